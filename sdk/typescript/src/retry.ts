// Waiting for a server to come back: exponential back-off with jitter.
import { ApiError } from './errors.js';

/** How a stream that broke is opened again. */
export interface RetryOptions {
  /** The upper bound of the first delay. 200 if absent. */
  firstDelayMs?: number;
  /** The upper bound of all delays. 5000 if absent. */
  maxDelayMs?: number;
  /** How often in a row, without progress, a connection is attempted again. Without limit if absent. */
  maxRetries?: number;
}

/** The delays of one period in which the server is not available. */
export class Retry {
  #attempt = 0;

  constructor(
    private readonly options: RetryOptions = {},
    private readonly random: () => number = Math.random,
  ) {}

  /** To be called after progress: the next failure begins a new period. */
  reset(): void {
    this.#attempt = 0;
  }

  /** The delay before the next attempt: between half of a bound, which doubles each time, and all of it. */
  nextDelay(error?: unknown): number {
    const { firstDelayMs = 200, maxDelayMs = 5000 } = this.options;
    const bound = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#attempt);
    this.#attempt += 1;
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(asked, bound * (0.5 + this.random() / 2));
  }

  /** Waits before the next attempt, or throws the error if there were too many. Ends early if aborted. */
  async pause(error: unknown, signal?: AbortSignal): Promise<void> {
    if (this.#attempt >= (this.options.maxRetries ?? Number.POSITIVE_INFINITY)) throw error;
    await sleep(this.nextDelay(error), signal);
  }
}

/** Waits; returns early, without an error, when the signal is aborted or the browser is online again. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const page = typeof window === 'undefined' ? undefined : window;
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      page?.removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
    page?.addEventListener('online', done, { once: true });
  });
}
