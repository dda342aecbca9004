// Output over time as a few bars: how many bytes an execution printed in each part of its run.

import type { ExecutionEvent } from 'headwater';

/**
 * Bytes that were printed between two moments, in milliseconds since the start. The server joins chunks of a log when it
 * sends them, so the exact moment of each is not always known; `fromMs` and `toMs` are then apart.
 */
export interface Printed {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bytes: number;
}

/** Collects what the events of a log say about output over time. */
export class Collected {
  readonly printed: Printed[] = [];
  /** Whether some moments are not known exactly. */
  isPartly = false;
  #seq = 0;
  #skipped = 0;
  lastMs = 0;

  add(event: ExecutionEvent): void {
    // The time of a gap is not that of its end: what it left out was printed until the next output.
    if (event.type === 'gap') this.#skipped += Math.max(0, event.to_byte - event.from_byte);
    const bytes = textBytes(event) + (event.type === 'gap' ? 0 : this.#skipped);
    if (bytes > 0) {
      // More than one chunk: they were printed at any time since the event before.
      const isJoined = event.seq - this.#seq > 1 || this.#skipped > 0;
      this.printed.push({ fromMs: isJoined ? this.lastMs : event.at_ms, toMs: event.at_ms, bytes });
      this.isPartly ||= isJoined;
      this.#skipped = 0;
    }
    this.#seq = event.seq;
    if (event.type !== 'gap') this.lastMs = Math.max(this.lastMs, event.at_ms);
  }
}

/** The bytes of an output event; of text, the number of characters is near enough for bars of 16 pixels. */
function textBytes(event: ExecutionEvent): number {
  if (event.type !== 'stdout' && event.type !== 'stderr' && event.type !== 'output') return 0;
  return event.text?.length ?? ((event.base64?.length ?? 0) * 3) / 4;
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
