// One clock for all relative times, so that a list of a thousand rows has one timer.
import { createSubscriber } from 'svelte/reactivity';

class Clock {
  #subscribe: () => void;

  constructor(intervalMs: number) {
    this.#subscribe = createSubscriber((update) => {
      const timer = setInterval(update, intervalMs);
      return () => clearInterval(timer);
    });
  }

  /** The current time in milliseconds. Reading it in a component subscribes to the clock. */
  get now(): number {
    this.#subscribe();
    return Date.now();
  }
}

/** For "3 min ago". */
export const slowClock = new Clock(10_000);
/** For times that tick while something runs. */
export const fastClock = new Clock(100);
