import { describe, expect, it } from 'vitest';
import { linePath, niceMax, type Frame } from './chart';

const frame: Frame = { width: 100, height: 12, from: 0, to: 10, max: 10 };

describe('linePath', () => {
  it('draws from the bottom for 0 to the top for the maximum', () => {
    expect(
      linePath(frame, [
        { at: 0, value: 0 },
        { at: 10, value: 10 },
      ]),
    ).toBe('M0 11L100 1');
  });

  it('is interrupted where nothing is known', () => {
    const path = linePath(frame, [
      { at: 0, value: 0 },
      { at: 1, value: null },
      { at: 2, value: 0 },
      { at: 3, value: NaN },
    ]);
    expect(path).toBe('M0 11M20 11');
  });
});

describe('niceMax', () => {
  it('rounds up to 1, 2 or 5', () => {
    expect(niceMax(0)).toBe(1);
    expect(niceMax(1)).toBe(1);
    expect(niceMax(3)).toBe(5);
    expect(niceMax(12)).toBe(20);
    expect(niceMax(0.03)).toBeCloseTo(0.05);
  });

  it('rounds bytes in powers of 1024', () => {
    expect(niceMax(1500, 1024)).toBe(2048);
    expect(niceMax(300 * 1024 * 1024, 1024)).toBe(500 * 1024 * 1024);
  });
});
