// Where things are in a long output, for the map at the edge: counts for ranges of rows, in bounded memory.
import type { GapEvent } from './events';

/** Counts events by position in a growing list. When it is full, two neighbours become one. */
export class Buckets {
  counts: Uint32Array;
  /** How many rows a bucket covers. */
  size = 1;

  constructor(readonly capacity = 1024) {
    this.counts = new Uint32Array(capacity);
  }

  add(row: number): void {
    while (row >= this.size * this.capacity) this.#halve();
    const bucket = Math.floor(row / this.size);
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
  }

  /** Whether there is anything in `first..last`. */
  any(first: number, last: number): boolean {
    const end = Math.min(this.capacity - 1, Math.floor(last / this.size));
    for (let bucket = Math.floor(first / this.size); bucket <= end; bucket += 1) {
      if ((this.counts[bucket] ?? 0) > 0) return true;
    }
    return false;
  }

  #halve(): void {
    const next = new Uint32Array(this.capacity);
    for (let i = 0; i < this.capacity; i += 1) {
      const half = i >> 1;
      next[half] = (next[half] ?? 0) + (this.counts[i] ?? 0);
    }
    this.counts = next;
    this.size *= 2;
  }
}

export class Marks {
  readonly stderrRows = new Buckets();
  readonly gapRows: number[] = [];
  /** The first frozen row of stderr; -1 if there is none. */
  firstStderr = -1;
  readonly #gaps = new Set<string>();

  stderr(row: number): void {
    if (this.firstStderr < 0) this.firstStderr = row;
    this.stderrRows.add(row);
  }

  gap(event: GapEvent, row: number): void {
    this.#gaps.add(key(event));
    this.gapRows.push(row);
  }

  /** Whether this gap was there when the output was read first. */
  hasGap(event: GapEvent): boolean {
    return this.#gaps.has(key(event));
  }
}

function key(event: GapEvent): string {
  return `${event.stream} ${event.from_byte} ${event.to_byte}`;
}
