// Search in the output: frozen rows once, live rows whenever they are drawn. Long output is searched in slices.
import type { OutputDocument } from './document';
import { Buckets } from './marks';
import type { Range } from './segments';

export interface Query {
  text: string;
  regex: boolean;
  caseSensitive: boolean;
}

/** More rows with hits than this are not remembered. */
export const MAX_HIT_ROWS = 100_000;
/** A row has at most this many hits. */
const MAX_IN_ROW = 1000;
const SLICE_MS = 6;

/** Returns the expression of a query; null if there is nothing to search for. Throws if it is not valid. */
export function compile(query: Query): RegExp | null {
  if (query.text === '') return null;
  const source = query.regex ? query.text : query.text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  return new RegExp(source, query.caseSensitive ? 'g' : 'gi');
}

/** Returns the matches in a row. Empty matches do not count. */
export function matches(expression: RegExp, text: string): Range[] {
  const found: Range[] = [];
  expression.lastIndex = 0;
  for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
    if (match[0] === '') expression.lastIndex += 1;
    else found.push({ start: match.index, end: match.index + match[0].length });
    if (found.length >= MAX_IN_ROW) break;
  }
  return found;
}

/** The hits of one query. */
export class Finder {
  /** Frozen rows with hits, sorted. */
  readonly rows: number[] = [];
  /** The number of hits before each of `rows`. */
  readonly before: number[] = [];
  readonly buckets = new Buckets();
  /** Hits in frozen rows. */
  count = 0;
  /** Frozen rows that were searched. */
  scanned = 0;
  /** There are more hits than are remembered. */
  more = false;
  #isRunning = false;

  constructor(
    readonly document: OutputDocument,
    readonly expression: RegExp,
    /** The text, if every row with a hit contains it as it is. */
    readonly literal: string | null = null,
  ) {}

  /** Searches what is not searched yet. Calls `progress` after each slice. */
  async run(signal: AbortSignal, pause: () => Promise<void>, progress: () => void): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.scanned < this.document.frozen && !signal.aborted && !this.more) {
        if (!this.document.has(this.scanned)) await this.document.load(this.scanned, this.scanned, signal);
        if (signal.aborted) return;
        this.#slice();
        progress();
        await pause();
      }
    } finally {
      this.#isRunning = false;
    }
  }

  #slice(): void {
    const end = performance.now() + SLICE_MS;
    while (this.scanned < this.document.frozen && this.document.has(this.scanned)) {
      const text = this.document.row(this.scanned)?.text ?? '';
      if (this.literal === null || text.includes(this.literal)) {
        const found = matches(this.expression, text).length;
        if (found > 0) {
          if (this.rows.length >= MAX_HIT_ROWS) {
            this.more = true;
            return;
          }
          this.rows.push(this.scanned);
          this.before.push(this.count);
          this.count += found;
          this.buckets.add(this.scanned);
        }
      }
      this.scanned += 1;
      if (this.scanned % 64 === 0 && performance.now() > end) return;
    }
  }

  /** Hits in the rows that may still change, by row. */
  live(): { row: number; count: number }[] {
    const found: { row: number; count: number }[] = [];
    for (let row = Math.max(this.document.frozen, this.scanned); row < this.document.length; row += 1) {
      const count = matches(this.expression, this.document.row(row)?.text ?? '').length;
      if (count > 0) found.push({ row, count });
    }
    return found;
  }
}
