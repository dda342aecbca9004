// Output over time as a few bars: how many bytes an execution printed in each part of its run.

/**
 * Bytes that were printed between two moments, in milliseconds since the start. The server joins chunks of a log when it
 * sends them, so the exact moment of each is not always known; `fromMs` and `toMs` are then apart.
 */
export interface Printed {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bytes: number;
}

/** The number of bars. */
export const BARS = 24;

/** Sums the bytes into bars. Those whose moment is not known exactly are spread evenly. */
export function bars(printed: readonly Printed[], durationMs: number, count = BARS): number[] {
  const sums = Array<number>(count).fill(0);
  const span = Math.max(1, durationMs);
  const barOf = (atMs: number): number => Math.min(count - 1, Math.max(0, Math.floor((atMs / span) * count)));
  for (const { fromMs, toMs, bytes } of printed) {
    const first = barOf(Math.min(fromMs, toMs));
    const last = barOf(toMs);
    for (let bar = first; bar <= last; bar += 1) sums[bar] = (sums[bar] ?? 0) + bytes / (last - first + 1);
  }
  return sums;
}

/** The heights of the bars from 0 to 1. By square root: a few lines stay visible beside a flood. */
export function heights(sums: readonly number[]): number[] {
  const max = Math.max(0, ...sums);
  return sums.map((sum) => (max === 0 ? 0 : Math.sqrt(sum / max)));
}
