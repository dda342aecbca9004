// Output over time as a few bars: how many bytes an execution printed in each part of its run.

/** Bytes that were printed at a moment, in milliseconds since the start. */
export interface Printed {
  readonly atMs: number;
  readonly bytes: number;
}

/** Bytes that are not in the events, known only to have been printed until a moment. */
export interface Skipped {
  readonly untilMs: number;
  readonly bytes: number;
}

/** The number of bars. */
export const BARS = 24;

/** Sums the bytes into bars. Skipped bytes are spread evenly over the time before they end. */
export function bars(
  printed: readonly Printed[],
  skipped: readonly Skipped[],
  durationMs: number,
  count = BARS,
): number[] {
  const sums = Array<number>(count).fill(0);
  const span = Math.max(1, durationMs);
  const barOf = (atMs: number): number => Math.min(count - 1, Math.max(0, Math.floor((atMs / span) * count)));
  for (const { atMs, bytes } of printed) {
    const bar = barOf(atMs);
    sums[bar] = (sums[bar] ?? 0) + bytes;
  }
  for (const { untilMs, bytes } of skipped) {
    const last = barOf(untilMs);
    for (let bar = 0; bar <= last; bar += 1) sums[bar] = (sums[bar] ?? 0) + bytes / (last + 1);
  }
  return sums;
}

/** The heights of the bars from 0 to 1. By square root: a few lines stay visible beside a flood. */
export function heights(sums: readonly number[]): number[] {
  const max = Math.max(0, ...sums);
  return sums.map((sum) => (max === 0 ? 0 : Math.sqrt(sum / max)));
}
