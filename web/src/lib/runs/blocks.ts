// Frozen rows, packed into blocks. A block that is not needed can drop its text; it is filled again from the server.
import type { LiveRow, RowKind } from './row';
import type { Span } from './spans';

/** A row as the view sees it. */
export interface Row {
  readonly kind: RowKind;
  readonly text: string;
  readonly spans: readonly Span[] | null;
  readonly at: number;
  readonly cut: number;
}

const KINDS: readonly RowKind[] = ['stdout', 'stderr', 'output', 'gap'];
/** What a row needs besides its text: its start, time and kind. */
const ROW_BYTES = 9;
const SPAN_BYTES = 64;

/** The packed rows of a block: one string, and numbers beside it. */
export class Packed {
  /** The rows, joined by newlines. */
  readonly text: string;
  readonly count: number;
  /** Memory, roughly. */
  readonly bytes: number;
  readonly #starts: Uint32Array;
  readonly #at: Uint32Array;
  readonly #kinds: Uint8Array;
  readonly #spans: Map<number, readonly Span[]>;
  readonly #cut: Map<number, number>;

  constructor(rows: readonly LiveRow[]) {
    this.count = rows.length;
    this.text = rows.map((row) => row.text).join('\n');
    this.#starts = new Uint32Array(rows.length + 1);
    this.#at = new Uint32Array(rows.length);
    this.#kinds = new Uint8Array(rows.length);
    this.#spans = new Map();
    this.#cut = new Map();
    let start = 0;
    let spans = 0;
    rows.forEach((row, index) => {
      this.#starts[index] = start;
      start += row.text.length + 1;
      this.#at[index] = row.at;
      this.#kinds[index] = KINDS.indexOf(row.kind);
      if (row.spans !== null && row.spans.length > 0) {
        this.#spans.set(index, row.spans);
        spans += row.spans.length;
      }
      if (row.cut > 0) this.#cut.set(index, row.cut);
    });
    this.#starts[rows.length] = start;
    this.bytes = this.text.length + rows.length * ROW_BYTES + spans * SPAN_BYTES;
  }

  row(index: number): Row {
    return {
      kind: this.kind(index),
      text: this.rowText(index),
      spans: this.#spans.get(index) ?? null,
      at: this.#at[index] ?? 0,
      cut: this.#cut.get(index) ?? 0,
    };
  }

  rowText(index: number): string {
    return this.text.slice(this.#starts[index], (this.#starts[index + 1] ?? 1) - 1);
  }

  kind(index: number): RowKind {
    return KINDS[this.#kinds[index] ?? 0] ?? 'stdout';
  }

  /** Returns the row that contains a character of `text`. */
  rowAt(position: number): number {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Where a block can be read again from. */
export interface Checkpoint {
  /** The last event before the block. */
  seq: number;
  /** The screen after that event, as JSON: a copy that keeps nothing else alive. */
  screen: string;
}

export interface Block {
  readonly first: number;
  readonly count: number;
  /** Null for a block behind very long rows, whose screen is too large to keep: an earlier block has one. */
  readonly checkpoint: Checkpoint | null;
  packed: Packed | null;
  /** The server no longer has these rows. */
  lost: boolean;
  /** When the block was last read; larger is later. */
  used: number;
}

/** Returns the index of the block with a row. */
export function blockOf(blocks: readonly Block[], row: number): number {
  let low = 0;
  let high = blocks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((blocks[middle]?.first ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}
