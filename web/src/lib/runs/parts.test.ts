// The small pure parts: words, fragments, magic bytes, segments, selection, geometry, row maps, search.
import { describe, expect, it } from 'vitest';
import { OutputDocument } from './document';
import { formatFragment, parseFragment } from './fragment';
import { sniff } from './magic';
import { Buckets } from './marks';
import { foldedRows, lowerBound, someRows, withContext } from './rowmap';
import { compile, Finder, matches } from './search';
import { findLinks, segments } from './segments';
import { ordered, rangeIn, wordAt } from './selection';
import { applySgr, PLAIN, withLink } from './style';
import { contentHeight, lastPosition, MAX_HEIGHT, positionOf, scrollTopOf, slice } from './viewport';
import { commandLine, endWords, quote } from './words';

describe('words', () => {
  it('says how it ended', () => {
    expect(endWords({ reason: 'exited', code: 3 }, 12_400)).toBe('exited with 3 after 12.4 s');
    expect(endWords({ reason: 'oom', detail: { kind: 'limit', which: 'memory_bytes', limit: 512 << 20 } }, 1)).toBe(
      'killed: out of memory at 512 MiB',
    );
    expect(endWords({ reason: 'timed_out', detail: { kind: 'timed_out', after_ms: 30_000 } }, 1)).toBe(
      'timed out after 30.0 s',
    );
    expect(endWords({ reason: 'signalled', signal: 11 }, 2000)).toBe('killed by SIGSEGV after 2.0 s');
    expect(endWords({ reason: 'setup_failed', detail: { kind: 'command_not_found', name: 'pyton' } }, null)).toBe(
      'could not start: command not found: pyton',
    );
    expect(endWords({ reason: 'of_the_future' }, null)).toBe('of the future');
  });

  it('writes commands', () => {
    expect(commandLine({ argv: ['echo', "it's", 'a b'] })).toBe("echo 'it'\\''s' 'a b'");
    expect(commandLine({ argv: ['bash', '-lc', 'make  test'] })).toBe('make test');
    expect(commandLine({ shell: 'a\n\x1b[31m b' })).toBe('a [31m b');
    expect(commandLine({ code: { language: 'python', code: '# hi\nprint(1)\n' } })).toBe('python: print(1)');
    expect(quote('')).toBe("''");
  });
});

describe('fragments', () => {
  it('has lines and a token', () => {
    expect(parseFragment('#L140-L120')).toEqual({ lines: { first: 120, last: 140 }, share: null });
    expect(parseFragment('#share=hws_1&L7')).toEqual({ lines: { first: 7, last: 7 }, share: 'hws_1' });
    expect(parseFragment('#share=<x>&L0&Lx')).toEqual({ lines: null, share: null });
    expect(formatFragment({ lines: { first: 1, last: 2 }, share: 't' })).toBe('#share=t&L1-L2');
  });
});

describe('magic bytes', () => {
  const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);
  it('knows images, binaries and text', () => {
    expect(sniff(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))?.image).toBe('image/png');
    expect(sniff(new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 1]))).toEqual({ image: null, name: 'ELF' });
    expect(sniff(new Uint8Array([1, 2, 0, 4]))).toEqual({ image: null, name: '' });
    expect(sniff(ascii('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'))).toBeNull();
    expect(sniff(ascii('\x1b[31mhello äöü\n'))).toBeNull();
    expect(sniff(ascii('BZhello'))).toBeNull();
  });
});

describe('segments', () => {
  const row = (text: string, spans: { start: number; end: number; style: typeof PLAIN }[] = []) => ({
    kind: 'stdout' as const, text, spans, at: 0, cut: 0,
  }); // prettier-ignore

  it('cuts by style, hits and selection', () => {
    const red = applySgr(PLAIN, '31');
    const parts = segments(row('abcdef', [{ start: 1, end: 3, style: red }]), 100, [{ start: 2, end: 4 }], 0, {
      start: 3,
      end: 6,
    });
    expect(parts.map((part) => [part.text, part.css, part.hit, part.selected])).toEqual([
      ['a', '', 0, false],
      ['b', 'color:var(--ansi-1)', 0, false],
      ['c', 'color:var(--ansi-1)', 2, false],
      ['d', '', 2, true],
      ['ef', '', 0, true],
    ]);
    expect(segments(row('x'.repeat(50)), 10)[0]?.text.length).toBe(10);
  });

  it('finds web addresses only', () => {
    const links = (text: string): string[] => findLinks(text).map(({ start, end }) => text.slice(start, end));
    expect(links('see https://a.b/c(d), (http://x.y/z). javascript://a ftp://b')).toEqual([
      'https://a.b/c(d)',
      'http://x.y/z',
    ]);
    expect(withLink(PLAIN, 'javascript:alert(1)//https://x').link).toBeNull();
  });
});

describe('selection', () => {
  it('knows its part of each row', () => {
    const selection = { anchor: { row: 5, column: 2 }, focus: { row: 3, column: 1 } };
    expect(ordered(selection).from.row).toBe(3);
    expect(rangeIn(selection, 3, 4)).toEqual({ start: 1, end: 4 });
    expect(rangeIn(selection, 4, 4)).toEqual({ start: 0, end: 4 });
    expect(rangeIn(selection, 5, 4)).toEqual({ start: 0, end: 2 });
    expect(rangeIn(selection, 6, 4)).toBeNull();
    expect(wordAt('a src/x.py:3 b', 5)).toEqual({ start: 2, end: 12 });
  });
});

describe('geometry', () => {
  it('reaches both ends exactly', () => {
    for (const rows of [10, 1000, 50_000_000]) {
      const geometry = { rows, rowHeight: 18, height: 600 };
      expect(contentHeight(geometry)).toBeLessThanOrEqual(MAX_HEIGHT);
      const last = lastPosition(geometry);
      const top = scrollTopOf(geometry, last);
      expect(top).toBeLessThanOrEqual(Math.max(0, contentHeight(geometry) - 600) + 0.001);
      expect(positionOf(geometry, top, 0, 0)).toBeCloseTo(last, 3);
      expect(slice(geometry, 0).first).toBe(0);
      const end = slice(geometry, last);
      expect(end.last).toBe(rows - 1);
      if (last > 0) expect([end.anchor, end.anchorY]).toEqual([rows, 600]);
    }
  });

  it('moves by rows under the wheel even if it is scaled', () => {
    const geometry = { rows: 50_000_000, rowHeight: 20, height: 600 };
    expect(positionOf(geometry, 1100, 1000, 500)).toBe(505);
  });
});

describe('row maps', () => {
  it('folds and filters', () => {
    const folded = foldedRows(1000, 10, 20);
    expect(folded.length).toBe(31);
    expect([folded.at(9), folded.at(10), folded.at(11), folded.at(30)]).toEqual([9, { hidden: 970 }, 980, 999]);
    expect([folded.indexOf(5), folded.indexOf(500), folded.indexOf(999)]).toEqual([5, 10, 30]);
    expect(withContext([5, 7, 100], 101, 2)).toEqual([3, 4, 5, 6, 7, 8, 9, 98, 99, 100]);
    expect(someRows([3, 9]).indexOf(4)).toBe(1);
    expect(lowerBound([1, 3, 5], 4)).toBe(2);
  });

  it('counts in bounded memory', () => {
    const buckets = new Buckets(4);
    for (const row of [0, 5, 100]) buckets.add(row);
    expect(buckets.counts.reduce((a, b) => a + b)).toBe(3);
    expect(buckets.any(90, 110)).toBe(true);
    expect(buckets.any(64, 90)).toBe(false);
  });
});

describe('search', () => {
  it('compiles', () => {
    expect(compile({ text: '', regex: false, caseSensitive: false })).toBeNull();
    expect(() => compile({ text: '(', regex: true, caseSensitive: false })).toThrow();
    const literal = compile({ text: 'a.b(', regex: false, caseSensitive: false });
    expect(literal && matches(literal, 'A.B( axb(')).toEqual([{ start: 0, end: 4 }]);
    const empty = compile({ text: 'x*', regex: true, caseSensitive: true });
    expect(empty && matches(empty, 'abxx')).toEqual([{ start: 2, end: 4 }]);
  });

  it('finds frozen and live rows, once each', async () => {
    const document = new OutputDocument({ blockRows: 50 });
    const expression = compile({ text: 'hit', regex: false, caseSensitive: false });
    if (!expression) throw new Error('no expression');
    const finder = new Finder(document, expression);
    for (let seq = 1; seq <= 300; seq += 1) {
      document.apply({ type: 'stdout', seq, at_ms: 0, offset: 0, text: seq % 10 === 0 ? 'a hit hit\n' : 'miss\n' });
      if (seq % 70 === 0)
        await finder.run(
          new AbortController().signal,
          () => Promise.resolve(),
          () => undefined,
        );
    }
    await finder.run(
      new AbortController().signal,
      () => Promise.resolve(),
      () => undefined,
    );
    const live = finder.live();
    expect(finder.count + live.reduce((sum, { count }) => sum + count, 0)).toBe(60);
    expect(finder.rows.length + live.length).toBe(30);
    expect(new Set([...finder.rows, ...live.map(({ row }) => row)]).size).toBe(30);
  });
});
