import { describe, expect, it } from 'vitest';
import { bars, heights, type Printed } from './sparkline';

const at = (ms: number, bytes: number): Printed => ({ fromMs: ms, toMs: ms, bytes });

describe('bars', () => {
  it('puts each output into the bar of its time', () => {
    expect(bars([at(0, 1), at(49, 2), at(100, 4), at(500, 8)], 100, 4)).toEqual([1, 2, 0, 12]);
  });

  it('spreads what was printed between two moments', () => {
    expect(bars([{ fromMs: 0, toMs: 49, bytes: 10 }], 100, 4)).toEqual([5, 5, 0, 0]);
    expect(bars([{ fromMs: 30, toMs: 99, bytes: 9 }], 100, 4)).toEqual([0, 3, 3, 3]);
  });

  it('survives an execution without duration', () => {
    expect(bars([at(0, 3)], 0, 2)).toEqual([3, 0]);
  });
});

describe('heights', () => {
  it('are between 0 and 1', () => {
    expect(heights([0, 25, 100])).toEqual([0, 0.5, 1]);
    expect(heights([0, 0])).toEqual([0, 0]);
  });
});
