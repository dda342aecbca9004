// Back-off: delays grow to a bound, differ, and respect what the server asks for.
import { expect, test } from 'vitest';
import { ApiError, ConnectionError, isTransient } from './errors.js';
import { Retry, sleep } from './retry.js';

test('delays double up to the bound, and begin again after progress', () => {
  const retry = new Retry({ firstDelayMs: 100, maxDelayMs: 1000 }, () => 1);
  expect([1, 2, 3, 4, 5, 6].map(() => retry.nextDelay())).toEqual([100, 200, 400, 800, 1000, 1000]);
  retry.reset();
  expect(retry.nextDelay()).toBe(100);
});

test('jitter keeps a delay between half of the bound and all of it', () => {
  for (let i = 0; i < 200; i += 1) {
    const delay = new Retry({ firstDelayMs: 100 }).nextDelay();
    expect(delay).toBeGreaterThanOrEqual(50);
    expect(delay).toBeLessThanOrEqual(100);
  }
});

test('a server that says when is asked then', () => {
  const busy = new ApiError(429, 'rate_limited', 'Too many requests.', undefined, undefined, 7000);
  expect(new Retry().nextDelay(busy)).toBe(7000);
});

test('after too many attempts the error is thrown', async () => {
  const retry = new Retry({ firstDelayMs: 1, maxRetries: 2 });
  const error = new ConnectionError('gone');
  await retry.pause(error);
  await retry.pause(error);
  await expect(retry.pause(error)).rejects.toBe(error);
});

test('an aborted pause ends at once', async () => {
  const abort = new AbortController();
  const slept = sleep(60_000, abort.signal);
  abort.abort();
  await slept;
  await sleep(60_000, abort.signal);
});

test('network errors, 5xx and 429 are transient, other refusals are not', () => {
  const api = (status: number): ApiError => new ApiError(status, 'x', 'x');
  expect([500, 502, 503, 429].map((status) => isTransient(api(status)))).toEqual([true, true, true, true]);
  expect([0, 400, 401, 403, 404, 410, 507].some((status) => isTransient(api(status)))).toBe(false);
  expect(isTransient(new ConnectionError('gone'))).toBe(true);
  expect(isTransient(new TypeError('a bug'))).toBe(false);
});
