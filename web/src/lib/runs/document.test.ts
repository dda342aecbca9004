// The line model: chunks cut at every byte give the same lines, and dropped blocks come back as they were.
import { describe, expect, it } from 'vitest';
import { OutputDocument } from './document';
import type { LogEvent, OutputEvent } from './events';
import type { Stream } from './row';
import { sameStyle } from './style';
import { incompleteTail, StreamDecoder } from './utf8';

const encoder = new TextEncoder();

function output(seq: number, type: Stream, data: string | Uint8Array): OutputEvent {
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  const base64 = btoa(String.fromCharCode(...bytes));
  return { type, seq, at_ms: 5, offset: 0, base64 };
}

function lines(document: OutputDocument): string[] {
  return Array.from({ length: document.length }, (_, i) => document.row(i)?.text ?? '<missing>');
}

function run(...texts: string[]): OutputDocument {
  const document = new OutputDocument();
  texts.forEach((text, index) => document.apply({ type: 'stdout', seq: index + 1, at_ms: 1, offset: 0, text }));
  return document;
}

function describeRows(document: OutputDocument): unknown[] {
  return Array.from({ length: document.length }, (_, i) => document.row(i)).map((row) => [
    row?.kind,
    row?.text,
    (row?.spans ?? []).map(({ start, end, style }) => [start, end, style.fg, style.bg, style.flags, style.link]),
  ]);
}

describe('drawing', () => {
  it('splits lines', () => {
    expect(lines(run('a\nb\n\nc'))).toEqual(['a', 'b', '', 'c']);
    expect(lines(run('a\r\nb\r\n'))).toEqual(['a', 'b']);
  });

  it('draws carriage returns, backspaces and erasing', () => {
    expect(lines(run('10%\r20%\r100%\n'))).toEqual(['100%']);
    expect(lines(run('hello\rJ'))).toEqual(['Jello']);
    expect(lines(run('abc\b\bX'))).toEqual(['aXc']);
    expect(lines(run('long text\r\x1b[Kshort'))).toEqual(['short']);
    expect(lines(run('long text\x1b[2K\rx'))).toEqual(['x']);
    expect(lines(run('abcdef\x1b[3D\x1b[1K'))).toEqual(['    ef']);
    expect(lines(run('abcdef\r\x1b[2P'))).toEqual(['cdef']);
    expect(lines(run('abcdef\r\x1b[2@x'))).toEqual(['x abcdef']);
  });

  it('draws progress bars of several lines', () => {
    expect(
      lines(run('one 0%\ntwo 0%\n', '\x1b[2A\rone 50%\x1b[K\ntwo 10%\x1b[K\n', '\x1b[2Aone done\x1b[K\n')),
    ).toEqual(['one done', 'two 10%']);
  });

  it('draws over a screen with absolute positions, and keeps what came before', () => {
    const text = run('before\n', '\x1b[H\x1b[2Jfirst\nsecond', '\x1b[H\x1b[2Jthird\n');
    expect(lines(text)).toEqual(['before', 'third', '']);
  });

  it('keeps tabs', () => expect(lines(run('a\tb'))).toEqual(['a\tb']));

  it('drops everything else', () => {
    const text = run('a\x1b]0;title\x07b\x1b[?25lc\x1bPq#0;2\x1b\\d\x1b(Be\x07f\x1b_apc\x1b\\g\x1b[>4;1mh\x1b=i\x00j');
    expect(lines(text)).toEqual(['abcdefghij']);
    expect(lines(run('a\x1b]0;never ends\nb\n'))).toEqual(['a', 'b']);
    expect(lines(run(`a\x1b[${'1;'.repeat(500)}mb`))).toEqual(['ab']);
  });

  it('keeps streams apart', () => {
    const document = new OutputDocument();
    document.apply(output(1, 'stdout', 'hello wor'));
    document.apply(output(2, 'stderr', '\x1b[31mwarning\n'));
    document.apply(output(3, 'stdout', 'ld\nnext\n'));
    expect(describeRows(document)).toEqual([
      ['stdout', 'hello world', []],
      ['stderr', 'warning', [[0, 7, 1, -1, 0, null]]],
      ['stdout', 'next', []],
    ]);
  });

  it('links only to the web', () => {
    const link = (target: string): string => `\x1b]8;;${target}\x1b\\x\x1b]8;;\x1b\\`;
    const first = (text: string): string | null => run(text).row(0)?.spans?.[0]?.style.link ?? null;
    expect(first(link('https://example.org/a'))).toBe('https://example.org/a');
    for (const bad of [
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      ' https://x',
      'https:',
      '//x',
    ]) {
      expect(first(link(bad))).toBeNull();
    }
  });

  it('bounds very long rows', () => {
    const document = run('x'.repeat(1 << 20), 'y'.repeat(100), '\nnext');
    expect(document.row(0)?.text.length).toBe(1 << 20);
    expect(document.row(0)?.cut).toBe(100);
    expect(document.row(1)?.text).toBe('next');
  });

  it('shows gaps', () => {
    const document = run('a\nb');
    document.apply({ type: 'gap', seq: 9, at_ms: 1, stream: 'stdout', from_byte: 3, to_byte: 10 });
    document.apply(output(10, 'stdout', 'c\n'));
    expect(describeRows(document).map((row) => (row as unknown[])[0])).toEqual(['stdout', 'stdout', 'gap', 'stdout']);
  });
});

describe('colours', () => {
  const style = (sgr: string): unknown => {
    const found = run(`\x1b[${sgr}mx`).row(0)?.spans?.[0]?.style;
    return found && [found.fg, found.bg, found.flags];
  };
  it('knows 16, 256 and true colours', () => {
    expect(style('31')).toEqual([1, -1, 0]);
    expect(style('1;92;44')).toEqual([10, 4, 1]);
    expect(style('38;5;208')).toEqual([208, -1, 0]);
    expect(style('48;2;1;2;3')).toEqual([-1, 0x1010203, 0]);
    expect(style('38:2::1:2:3')).toEqual([0x1010203, -1, 0]);
    expect(style('38:5:9')).toEqual([9, -1, 0]);
    expect(style('2;3;4;7')).toEqual([-1, -1, 30]);
    expect(style('31;0')).toBeUndefined();
    expect(style('38;5;300')).toBeUndefined();
    expect(style('38;2')).toBeUndefined();
  });
});

describe('UTF-8', () => {
  it('decodes the same however it is cut', () => {
    const bytes = new Uint8Array([...encoder.encode('aé€😀\ufeffz'), 0xff, 0xc3, 0x28, 0xe2, 0x82, 0x41, 0xf0, 0x9f]);
    const wanted = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const decoder = new StreamDecoder();
      expect(decoder.bytes(bytes.slice(0, cut)) + decoder.bytes(bytes.slice(cut)) + decoder.finish()).toBe(wanted);
    }
    expect(incompleteTail(new Uint8Array([0x41, 0xf0, 0x9f, 0x98]))).toBe(3);
  });
});

describe('chunks', () => {
  const pieces = [
    'plain text\n', 'no end', '\r', '\n', '\r\n', '\b\b', '\t', '\x1b[31m', '\x1b[0m', '\x1b[38;2;9;8;7m', '\x1b[2A', '\x1b[1B',
    '\x1b[K', '\x1b[2K', '\x1b[J', '\x1b[5G', '\x1b[10C', '\x1b[3D', '😀', 'é€', '\x1b]8;;https://a.b/c\x07', '\x1b]8;;\x1b\\',
    '\x1b7', '\x1b8', '\x1b[H', '\x1b[2J', '\x1b[3;4H', '\x1bPxx\x1b\\', '\x1b[2P', '\x1b[2@', '\x1b[4X', '████░░ 40%', '\xff',
  ]; // prettier-ignore
  function random(seed: number): () => number {
    let state = seed;
    return () => {
      state = (state * 1664525 + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
  }

  function events(seed: number): { stream: Stream; bytes: Uint8Array }[] {
    const next = random(seed);
    return Array.from({ length: 40 }, () => ({
      stream: next() < 0.6 ? 'stdout' : 'stderr',
      bytes: encoder.encode(
        Array.from({ length: 1 + Math.floor(next() * 8) }, () => pieces[Math.floor(next() * pieces.length)]).join(''),
      ),
    }));
  }

  it('gives the same rows when every byte is an event', () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const whole = new OutputDocument();
      const cut = new OutputDocument();
      let seq = 0;
      for (const { stream, bytes } of events(seed)) {
        whole.apply(output((seq += 1), stream, bytes));
        for (const byte of bytes) cut.apply(output((seq += 1), stream, new Uint8Array([byte])));
      }
      expect(describeRows(cut)).toEqual(describeRows(whole));
    }
  });

  it('reads dropped blocks again, as they were', async () => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const log: LogEvent[] = [];
      let seq = 0;
      for (let part = 0; part < 6; part += 1) {
        for (const { stream, bytes } of events(seed * 100 + part)) log.push(output((seq += 1), stream, bytes));
        const many = Array.from({ length: 400 }, (_, i) => `\x1b[3${i % 8}mline ${part} ${i}\n`).join('');
        log.push(output((seq += 1), 'stdout', many));
      }
      const keep = new OutputDocument({ blockRows: 50 });
      const drop = new OutputDocument({
        blockRows: 50,
        budget: 2000,
        // Not the same events: the server may join chunks differently. Here each is cut in two.
        async *source(after) {
          for (const event of log.filter((one) => one.seq > after)) {
            if (event.type !== 'stdout' && event.type !== 'stderr') continue;
            const bytes = Uint8Array.from(atob(event.base64 ?? ''), (c) => c.charCodeAt(0));
            const half = bytes.length >> 1;
            yield output(event.seq, event.type, bytes.slice(0, half));
            yield output(event.seq, event.type, bytes.slice(half));
          }
          await Promise.resolve();
        },
      });
      for (const event of log) {
        keep.apply(event);
        drop.apply(event);
      }
      expect(drop.length).toBe(keep.length);
      expect(drop.resident).toBeLessThan(20000);
      const all = describeRows(keep);
      let missing = 0;
      for (let row = 0; row < keep.length; row += 1) {
        if (!drop.has(row)) missing += 1;
        await drop.load(row, row, new AbortController().signal);
        const found = drop.row(row);
        expect([found?.kind, found?.text]).toEqual((all[row] as unknown[]).slice(0, 2));
        const wanted = keep.row(row)?.spans ?? [];
        expect(
          (found?.spans ?? []).every((span, i) => wanted[i] !== undefined && sameStyle(span.style, wanted[i].style)),
        ).toBe(true);
      }
      expect(missing).toBeGreaterThan(0);
    }
  }, 60_000);

  it('says that rows are lost if the server no longer has them', async () => {
    const document = new OutputDocument({
      blockRows: 10,
      budget: 100,
      async *source() {
        yield { type: 'gap', seq: 50, at_ms: 1, stream: 'stdout', from_byte: 0, to_byte: 1000 };
        await Promise.resolve();
      },
    });
    for (let seq = 1; seq < 60; seq += 1) document.apply(output(seq, 'stdout', 'x\n'.repeat(20)));
    expect(document.has(0)).toBe(false);
    await document.load(0, 0, new AbortController().signal);
    expect(document.isLost(0)).toBe(true);
    expect(document.row(0)).toBeNull();
  });
});
