import { describe, expect, it } from 'vitest';
import { bars, heights } from './sparkline';

describe('bars', () => {
  it('puts each output into the bar of its time', () => {
    const sums = bars(
      [
        { atMs: 0, bytes: 1 },
        { atMs: 49, bytes: 2 },
        { atMs: 100, bytes: 4 },
        { atMs: 500, bytes: 8 },
      ],
      [],
      100,
      4,
    );
    expect(sums).toEqual([1, 2, 0, 12]);
  });

  it('spreads what was skipped over the time before', () => {
    expect(bars([], [{ untilMs: 49, bytes: 10 }], 100, 4)).toEqual([5, 5, 0, 0]);
  });

  it('survives an execution without duration', () => {
    expect(bars([{ atMs: 0, bytes: 3 }], [], 0, 2)).toEqual([3, 0]);
  });
});

describe('heights', () => {
  it('are between 0 and 1', () => {
    expect(heights([0, 25, 100])).toEqual([0, 0.5, 1]);
    expect(heights([0, 0])).toEqual([0, 0]);
  });
});
