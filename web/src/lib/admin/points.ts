// The recent past of the charts: a ring of points that share one time axis, and the rates between them.

/** What the charts show at one moment. `null` means that it is not known. */
export type Point<K extends string> = { readonly at: number } & Readonly<Record<K, number | null>>;

/** Keeps the newest `capacity` points, oldest first. Returns a new list, so that readers notice the change. */
export function pushPoint<T extends { readonly at: number }>(points: readonly T[], point: T, capacity: number): T[] {
  const kept = points.length >= capacity ? points.slice(points.length - capacity + 1) : [...points];
  kept.push(point);
  return kept;
}

/** A counter at a moment. */
export interface Reading {
  readonly at: number;
  readonly value: number;
}

/**
 * The rate of a counter that may be measured less often than it is read. It is computed between the last two changes:
 * a counter that is refreshed every ten seconds would otherwise show as one spike and four zeros. After `staleMs`
 * without a change the rate is 0. A counter that went down was reset: its rate is not known until the next change.
 */
export class RateMeter {
  #last: Reading | null = null;
  #rate: number | null = null;
  readonly #staleMs: number;

  constructor(staleMs: number) {
    this.#staleMs = staleMs;
  }

  /** Takes the next reading and returns the current rate per second, or `null` if it is not known yet. */
  next(at: number, value: number | null): number | null {
    if (value === null) return null;
    const last = this.#last;
    if (!last || value < last.value) {
      this.#last = { at, value };
      this.#rate = null;
      return null;
    }
    if (value > last.value) {
      const seconds = (at - last.at) / 1000;
      this.#rate = seconds > 0 ? (value - last.value) / seconds : this.#rate;
      this.#last = { at, value };
      return this.#rate;
    }
    if (at - last.at >= this.#staleMs) {
      this.#rate = 0;
      // Moves along, so that the next change is not averaged over the whole silence.
      this.#last = { at: at - this.#staleMs, value };
    }
    return this.#rate ?? null;
  }
}

/** The index of the point nearest to `at`; -1 if there is none. Points are in order of time. */
export function nearestPoint(points: readonly { readonly at: number }[], at: number): number {
  if (points.length === 0) return -1;
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.at ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  const before = points[low - 1];
  const after = points[low];
  if (before && after && at - before.at < after.at - at) return low - 1;
  return low;
}
