import { describe, expect, it } from 'vitest';
import { bars, Collected, heights, type Printed } from './sparkline';

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

describe('Collected', () => {
  it('knows the moment of a single chunk, and the span of joined ones', () => {
    const collected = new Collected();
    collected.add({ type: 'started', seq: 1, at_ms: 0, execution_id: 'exe_1', pid: 2 });
    collected.add({ type: 'stdout', seq: 2, at_ms: 50, offset: 0, text: 'abc' });
    collected.add({ type: 'stderr', seq: 6, at_ms: 90, offset: 0, text: 'abcde' });
    expect(collected.printed).toEqual([
      { fromMs: 50, toMs: 50, bytes: 3 },
      { fromMs: 50, toMs: 90, bytes: 5 },
    ]);
    expect([collected.isPartly, collected.lastMs]).toEqual([true, 90]);
  });

  it('spreads a gap until the next output', () => {
    const collected = new Collected();
    collected.add({ type: 'gap', seq: 9, at_ms: 0, stream: 'stdout', from_byte: 0, to_byte: 100 });
    collected.add({ type: 'stdout', seq: 10, at_ms: 40, offset: 100, text: 'ab' });
    expect(collected.printed).toEqual([{ fromMs: 0, toMs: 40, bytes: 102 }]);
  });
});
