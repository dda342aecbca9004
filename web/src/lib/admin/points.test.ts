import { describe, expect, it } from 'vitest';
import { nearestPoint, pushPoint, RateMeter } from './points';

describe('pushPoint', () => {
  it('drops the oldest points beyond the capacity', () => {
    let points: { at: number }[] = [];
    for (let at = 1; at <= 5; at += 1) points = pushPoint(points, { at }, 3);
    expect(points.map((point) => point.at)).toEqual([3, 4, 5]);
  });
});

describe('RateMeter', () => {
  it('needs two readings', () => {
    const meter = new RateMeter(20_000);
    expect(meter.next(0, 100)).toBeNull();
    expect(meter.next(2000, 300)).toBe(100);
  });

  it('keeps the rate of a counter that is measured less often than it is read', () => {
    const meter = new RateMeter(20_000);
    meter.next(0, 0);
    meter.next(10_000, 50);
    expect(meter.next(12_000, 50)).toBe(5);
    expect(meter.next(20_000, 60)).toBe(1);
  });

  it('falls to zero after a silence and does not average over it', () => {
    const meter = new RateMeter(10_000);
    meter.next(0, 0);
    meter.next(1000, 10);
    expect(meter.next(60_000, 10)).toBe(0);
    expect(meter.next(70_000, 30)).toBe(1);
  });

  it('does not know the rate after a reset', () => {
    const meter = new RateMeter(10_000);
    meter.next(0, 500);
    meter.next(1000, 600);
    expect(meter.next(2000, 5)).toBeNull();
    expect(meter.next(3000, 15)).toBe(10);
    expect(meter.next(4000, null)).toBeNull();
  });
});

describe('nearestPoint', () => {
  const points = [{ at: 0 }, { at: 10 }, { at: 20 }];
  it('finds the nearest in time', () => {
    expect(nearestPoint(points, -5)).toBe(0);
    expect(nearestPoint(points, 4)).toBe(0);
    expect(nearestPoint(points, 6)).toBe(1);
    expect(nearestPoint(points, 99)).toBe(2);
    expect(nearestPoint([], 1)).toBe(-1);
  });
});
