// The search of one output view: what was typed, what was found, and where the reader is in it.
import type { OutputDocument } from './document';
import { giveWay } from './pause';
import { lowerBound } from './rowmap';
import { compile, Finder, matches } from './search';
import type { Range } from './segments';

/** Live rows are searched again at most this often. */
const EVERY_MS = 200;

export class SearchState {
  isOpen = $state(false);
  text = $state('');
  regex = $state(false);
  caseSensitive = $state(false);
  /** Show matching lines only. */
  filter = $state(false);
  count = $state(0);
  more = $state(false);
  isBusy = $state(false);
  isInvalid = $state(false);
  /** The number of the current hit, from 1; 0 if there is none. */
  at = $state(0);
  finder: Finder | null = null;
  /** All rows with hits, sorted. */
  rows: number[] = [];
  current: { row: number; nth: number } | null = null;
  #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #live: { row: number; count: number }[] = [];

  constructor(
    readonly document: OutputDocument,
    /** Something that is drawn has changed. */
    readonly changed: () => void,
  ) {}

  get isActive(): boolean {
    return this.finder !== null;
  }

  /** Starts again after the query has changed. */
  update(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.finder = null;
    this.rows = [];
    this.#live = [];
    this.current = null;
    [this.count, this.at, this.more, this.isInvalid, this.isBusy] = [0, 0, false, false, false];
    try {
      const expression = this.isOpen ? compile(this) : null;
      const literal = !this.regex && this.caseSensitive ? this.text : null;
      if (expression) this.finder = new Finder(this.document, expression, literal);
    } catch {
      this.isInvalid = true;
    }
    this.changed();
    void this.#run();
  }

  /** Lines have been added. */
  grow(): void {
    if (this.finder === null || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#run();
    }, EVERY_MS);
  }

  close(): void {
    this.isOpen = false;
    this.filter = false;
    this.update();
  }

  stop(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  /** The hits in a row, and which one is the current one (-1: none). */
  hitsIn(row: number, text: string): { hits: Range[]; current: number } {
    if (!this.finder) return { hits: [], current: -1 };
    const hits = matches(this.finder.expression, text);
    return { hits, current: this.current?.row === row ? this.current.nth : -1 };
  }

  /** Goes to the next hit, or the previous one; from `row` if there is no current one. Returns its row. */
  step(direction: 1 | -1, from: number): number | null {
    if (this.rows.length === 0) return null;
    let index: number;
    let nth: number;
    if (this.current === null) {
      index = lowerBound(this.rows, from);
      if (direction < 0) index -= 1;
      nth = direction > 0 ? 0 : -1;
    } else {
      index = lowerBound(this.rows, this.current.row);
      nth = this.current.nth + direction;
      if (this.rows[index] !== this.current.row && direction < 0) index -= 1;
    }
    const countAt = (at: number): number => this.#countOf(at);
    if (this.current !== null && this.rows[index] === this.current.row) {
      if (nth >= countAt(index)) [index, nth] = [index + 1, 0];
      else if (nth < 0) [index, nth] = [index - 1, -1];
    }
    index = (index + this.rows.length) % this.rows.length;
    if (nth < 0) nth = Math.max(0, countAt(index) - 1);
    const row = this.rows[index] ?? 0;
    this.current = { row, nth };
    this.#place(index);
    this.changed();
    return row;
  }

  #countOf(index: number): number {
    const { finder } = this;
    if (!finder) return 0;
    if (index >= finder.rows.length) return this.#live[index - finder.rows.length]?.count ?? 0;
    return (finder.before[index + 1] ?? finder.count) - (finder.before[index] ?? 0);
  }

  #place(index: number): void {
    const { finder } = this;
    if (!finder || !this.current) return;
    const frozen = Math.min(index, finder.rows.length);
    let before = finder.before[frozen] ?? finder.count;
    for (let i = finder.rows.length; i < index; i += 1) before += this.#countOf(i);
    this.at = before + this.current.nth + 1;
  }

  async #run(): Promise<void> {
    const { finder } = this;
    const { signal } = this.#abort;
    if (!finder) return;
    this.isBusy = true;
    await finder.run(signal, giveWay, () => this.#collect(finder));
    if (signal.aborted) return;
    this.isBusy = false;
    this.#collect(finder);
  }

  #collect(finder: Finder): void {
    if (finder !== this.finder) return;
    this.#live = finder.live();
    this.rows = [...finder.rows, ...this.#live.map(({ row }) => row)];
    this.count = finder.count + this.#live.reduce((sum, { count }) => sum + count, 0);
    this.more = finder.more;
    this.changed();
  }
}
