// Tests of the formats.
import { describe, expect, test } from 'vitest';
import { bytes, duration, exact, relative, shortId } from './format';

describe('duration', () => {
  test.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1240, '1.2 s'],
    [59_940, '59.9 s'],
    [59_990, '1 m 00 s'],
    [185_000, '3 m 05 s'],
    [7_440_000, '2 h 04 m'],
    [200_000_000, '2 d 07 h'],
    [Number.NaN, ''],
  ])('%d', (ms, text) => expect(duration(ms)).toBe(text));
});

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1258291, '1.2 MiB'],
  [512 * 1024 * 1024, '512 MiB'],
])('bytes %d', (value, text) => expect(bytes(value)).toBe(text));

test.each([
  [3, 'just now'],
  [42, '42 s ago'],
  [185, '3 min ago'],
  [7300, '2 h ago'],
  [-185, 'in 3 min'],
  [90 * 86_400, '1969-10-03'],
])('relative %d', (seconds, text) => expect(relative(-seconds * 1000, 0)).toBe(text));

test('exact', () => {
  expect(exact('2026-01-02T03:04:05.678Z')).toMatch(/^2026-01-0[123] \d\d:\d\d:05\.678 [+-]\d\d:\d\d$/);
  expect(exact('nonsense')).toBe('');
});

test('shortId', () => expect(shortId('exe_0123456789abcdef0123456789abcdef')).toBe('exe_01234567'));
