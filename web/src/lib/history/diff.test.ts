import { describe, expect, it } from 'vitest';
import { diffLines, foldSame, splitLines, type Diff } from './diff';

const marks = { same: ' ', left: '-', right: '+' } as const;
const draw = (diff: Diff): string => diff.lines.map((line) => marks[line.kind] + line.text).join('');
const compare = (left: string, right: string): Diff => diffLines([...left], [...right]);

/** What a reader gets from one side of a difference. */
const side = (diff: Diff, other: 'left' | 'right'): string =>
  diff.lines
    .filter((line) => line.kind !== other)
    .map((line) => line.text)
    .join('');

describe('splitLines', () => {
  it('does not count a final line feed as a line', () => {
    expect(splitLines('')).toEqual([]);
    expect(splitLines('a\nb\n')).toEqual(['a', 'b']);
    expect(splitLines('a\n\n')).toEqual(['a', '']);
  });
});

describe('diffLines', () => {
  it('finds nothing in equal texts', () => {
    expect(draw(compare('abc', 'abc'))).toBe(' a b c');
    expect(compare('', '').lines).toEqual([]);
  });

  it('finds the shortest difference', () => {
    const diff = compare('abcabba', 'cbabac');
    expect(diff.added + diff.removed).toBe(5);
    expect(side(diff, 'right')).toBe('abcabba');
    expect(side(diff, 'left')).toBe('cbabac');
    expect(draw(compare('abcd', 'abXcd'))).toBe(' a b+X c d');
    expect(draw(compare('', 'ab'))).toBe('+a+b');
    expect(draw(compare('ab', ''))).toBe('-a-b');
  });

  it('numbers the lines of both sides', () => {
    const [, second, third, fourth] = compare('abc', 'aXc').lines;
    expect([second?.left, second?.right]).toEqual([2, null]);
    expect([third?.left, third?.right]).toEqual([null, 2]);
    expect([fourth?.left, fourth?.right]).toEqual([3, 3]);
  });

  it('always gives back both sides, for random texts', () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % below;
    };
    for (let round = 0; round < 500; round += 1) {
      const text = (): string => Array.from({ length: random(12) }, () => 'abc'[random(3)]).join('');
      const [left, right] = [text(), text()];
      const diff = compare(left, right);
      expect(side(diff, 'right')).toBe(left);
      expect(side(diff, 'left')).toBe(right);
      expect(diff.isCoarse).toBe(false);
    }
  });

  it('shows a replacement if the texts differ too much', () => {
    const diff = diffLines([...'xabcdefy'], [...'x123456y'], 3);
    expect(diff.isCoarse).toBe(true);
    expect(draw(diff)).toBe(' x-a-b-c-d-e-f+1+2+3+4+5+6 y');
  });

  it('stays within a second for large texts', () => {
    const left = Array.from({ length: 50_000 }, (_, at) => `line ${at}`);
    const right = left.map((line, at) => (at % 100 === 0 ? `${line}!` : line));
    const began = performance.now();
    const diff = diffLines(left, right);
    expect(diff.added).toBe(500);
    expect(performance.now() - began).toBeLessThan(1000);
  });
});

describe('foldSame', () => {
  it('folds equal lines away from differences', () => {
    const left = Array.from({ length: 20 }, (_, at) => `${at}`);
    const right = left.map((line, at) => (at === 10 ? 'x' : line));
    const hunks = foldSame(diffLines(left, right).lines, 2);
    expect(hunks.map((hunk) => [hunk.kind, hunk.lines.length])).toEqual([
      ['fold', 8],
      ['lines', 6],
      ['fold', 7],
    ]);
  });

  it('folds everything if nothing differs, and nothing if there is nothing', () => {
    expect(foldSame(compare('aaa', 'aaa').lines).map((hunk) => hunk.kind)).toEqual(['fold']);
    expect(foldSame([])).toEqual([]);
  });
});
