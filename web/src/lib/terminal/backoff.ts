// How long a client waits before it connects again: exponential, with jitter, so that the viewers of a server that comes
// back do not all arrive at once.

const FIRST_MS = 250;
const LONGEST_MS = 15_000;

/** The delay before attempt `attempt` (0 is the first retry): between half and all of 250 ms, 500 ms, ... 15 s. */
export function backoff(attempt: number, random: () => number = Math.random): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  return Math.round(full / 2 + (full / 2) * random());
}
