// Tests of the delays before a new attempt.

import { expect, it } from 'vitest';
import { backoff } from './backoff';

it('doubles up to a bound, with jitter in the upper half', () => {
  const longest = Array.from({ length: 9 }, (_, attempt) => backoff(attempt, () => 1));
  expect(longest).toEqual([250, 500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  const shortest = Array.from({ length: 9 }, (_, attempt) => backoff(attempt, () => 0));
  expect(shortest).toEqual(longest.map((delay) => delay / 2));
  expect(backoff(100_000, () => 1)).toBe(15000);
});
