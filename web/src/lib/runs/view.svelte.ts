// What an output view shows at a moment: the rows in its window, drawn at most once a frame.
import { flushSync } from 'svelte';
import { runs } from '../strings/runs';
import type { Execution } from './Execution.svelte';
import { allRows, foldedRows, someRows, withContext, type RowMap } from './rowmap';
import { SearchState } from './search.svelte';
import { segments, type Segment } from './segments';
import { isEmpty, rangeIn, type Selection } from './selection';
import * as geometry from './viewport';
import { endWords, isSuccess } from './words';

/** A line longer than this is cut until somebody asks for the rest. */
export const MAX_SHOWN = 1 << 16;
/** The reader is at the end if less than this is below. */
const NEAR_END = 100;
/** After scrolling up a little, the view does not jump back for this long. */
const UP_MS = 400;
const CONTEXT = 2;
const FOLD_HEAD = 20;
const FOLD_TAIL = 180;

export interface VisibleRow {
  /** The index among the shown rows. */
  index: number;
  /** The row of the document; -1 for folds and the end. */
  row: number;
  kind: 'stdout' | 'stderr' | 'output' | 'gap' | 'fold' | 'end' | 'loading' | 'lost';
  segments: Segment[];
  time: string;
  /** Characters that are not shown, and whether they can be. */
  hidden: number;
  beyond: number;
  isTarget: boolean;
  isContext: boolean;
  isFailure: boolean;
}

export class ViewState {
  rows = $state.raw<VisibleRow[]>([]);
  /** Where the first of `rows` is, in pixels from the top of the window. */
  offset = $state(0);
  contentHeight = $state(0);
  /** The height of the drawn rows, for cards that are as high as their content. */
  drawnHeight = $state(0);
  isFollowing = $state(true);
  newLines = $state(0);
  wrap = $state(true);
  times = $state(false);
  numbers = $state(true);
  isFolded = $state(false);
  /** The longest line so far, in characters: the width of the content. */
  widest = $state(0);
  /** How much of the output is above and in the window, from 0 to 1. */
  window = $state.raw({ start: 0, end: 1 });
  target = $state.raw<{ first: number; last: number } | null>(null);
  selection: Selection | null = null;
  readonly search: SearchState;
  scroller: HTMLElement | null = null;
  layer: HTMLElement | null = null;
  rowHeight = 18;
  #height = 0;
  #position = 0;
  #scrollTop = 0;
  #lastUp = 0;
  #seen = 0;
  #frame = 0;
  #map: RowMap = allRows(0);
  #filtered: number[] | null = null;
  #filterVersion = -1;
  #expanded = new Set<number>();
  #load: { abort: AbortController; first: number; last: number } | null = null;

  constructor(readonly execution: Execution) {
    this.search = new SearchState(execution.document, () => this.requestDraw());
  }

  get document() {
    return this.execution.document;
  }

  get map(): RowMap {
    return this.#map;
  }

  /** The rows of the document that are in the window. */
  get visible(): { first: number; last: number } {
    const rows = this.rows.map(({ row }) => row).filter((row) => row >= 0);
    return { first: rows[0] ?? 0, last: rows[rows.length - 1] ?? 0 };
  }

  start(): () => void {
    const stop = this.execution.onChange(() => {
      this.search.grow();
      this.draw();
    });
    this.requestDraw();
    return () => {
      stop();
      cancelAnimationFrame(this.#frame);
      this.search.stop();
      this.#load?.abort.abort();
    };
  }

  resized(height: number): void {
    if (height === this.#height) return;
    this.#height = height;
    this.requestDraw();
  }

  requestDraw(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => this.draw());
  }

  /** The reader scrolled. */
  scrolled(): void {
    const top = this.scroller?.scrollTop ?? 0;
    if (Math.abs(top - this.#scrollTop) < 1) return;
    const before = this.#position;
    this.#position = geometry.positionOf(this.#geometry(), top, this.#scrollTop, this.#position);
    this.#scrollTop = top;
    if (this.#position < before) this.#lastUp = performance.now();
    const below = (geometry.lastPosition(this.#geometry()) - this.#position) * this.rowHeight;
    this.#follow(below <= NEAR_END);
    this.requestDraw();
  }

  toEnd(): void {
    this.#lastUp = 0;
    this.#follow(true);
    this.requestDraw();
  }

  /** Brings a row of the document into the middle of the window. */
  toRow(row: number): void {
    const shown = this.#map.indexOf(row);
    const last = geometry.lastPosition(this.#geometry());
    this.#follow(false);
    this.#position = Math.max(0, Math.min(last, shown - Math.floor(this.#height / this.rowHeight / 3)));
    this.#place();
    this.requestDraw();
  }

  /** Moves by pixels, for drags beyond the edge and for the map. */
  scrollBy(pixels: number): void {
    if (this.scroller) this.scroller.scrollTop += pixels;
  }

  /** Moves to a share of the output, from 0 to 1. */
  scrollTo(share: number): void {
    const { rows } = this.#geometry();
    const last = geometry.lastPosition(this.#geometry());
    this.#position = Math.max(0, Math.min(last, share * rows - this.#height / this.rowHeight / 2));
    this.#follow(last - this.#position < 1);
    this.#place();
    this.requestDraw();
  }

  expand(row: number): void {
    this.#expanded.add(row);
    this.requestDraw();
  }

  draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#map = this.#mapRows();
    const shape = this.#geometry();
    const last = geometry.lastPosition(shape);
    const mayJump = performance.now() - this.#lastUp > UP_MS;
    this.#position = this.isFollowing && mayJump ? last : Math.min(this.#position, last);
    const part = geometry.slice(shape, this.#position);
    const rows: VisibleRow[] = [];
    for (let index = part.first; index <= part.last; index += 1) rows.push(this.#row(index));
    flushSync(() => {
      this.rows = rows;
      this.contentHeight = geometry.contentHeight(shape);
      this.offset = part.anchorY - (part.anchor - part.first) * this.rowHeight;
      this.newLines = this.isFollowing ? 0 : Math.max(0, this.document.length - this.#seen);
      const share = Math.max(1, shape.rows);
      this.window = {
        start: this.#position / share,
        end: Math.min(1, (this.#position + this.#height / this.rowHeight) / share),
      };
    });
    if (this.wrap) this.#measure(part);
    this.#place();
    this.#need(rows);
  }

  #geometry(): geometry.Geometry {
    const end = this.execution.exit !== null ? 1 : 0;
    return { rows: this.#map.length + end, rowHeight: this.rowHeight, height: this.#height };
  }

  #follow(follow: boolean): void {
    if (follow === this.isFollowing) return;
    this.isFollowing = follow;
    this.#seen = this.document.length;
  }

  #mapRows(): RowMap {
    const { length } = this.document;
    const { search } = this;
    if (search.filter && search.isActive) {
      if (this.#filterVersion !== search.rows.length || this.#filtered === null) {
        this.#filtered = withContext(search.rows, length, CONTEXT);
        this.#filterVersion = search.rows.length;
      }
      return someRows(this.#filtered);
    }
    this.#filtered = null;
    return this.isFolded ? foldedRows(length, FOLD_HEAD, FOLD_TAIL) : allRows(length);
  }

  #row(index: number): VisibleRow {
    const base = { index, row: -1, segments: [], time: '', hidden: 0, beyond: 0 };
    const flags = { isTarget: false, isContext: false, isFailure: false };
    if (index >= this.#map.length) {
      const { exit, durationMs } = this.execution;
      const text = exit ? endWords(exit, durationMs) : '';
      return { ...base, ...flags, kind: 'end', segments: [piece(text)], isFailure: exit !== null && !isSuccess(exit) };
    }
    const at = this.#map.at(index);
    if (typeof at !== 'number') return { ...base, ...flags, kind: 'fold', segments: [piece(runs.folded(at.hidden))] };
    const row = this.document.row(at);
    const isTarget = this.target !== null && at + 1 >= this.target.first && at + 1 <= this.target.last;
    if (row === null) {
      const isLost = this.document.isLost(at);
      const text = isLost ? runs.lostRow : runs.loadingRow;
      return { ...base, ...flags, row: at, isTarget, kind: isLost ? 'lost' : 'loading', segments: [piece(text)] };
    }
    const limit = this.#expanded.has(at) ? Infinity : MAX_SHOWN;
    const shown = Math.min(row.text.length, limit);
    const { hits, current } = this.search.hitsIn(at, shown < row.text.length ? row.text.slice(0, shown) : row.text);
    const selected = isEmpty(this.selection) ? null : rangeIn(this.selection, at, row.text.length);
    if (shown > this.widest) this.widest = Math.min(shown, MAX_SHOWN);
    return {
      index,
      row: at,
      kind: row.kind,
      segments: segments(row, shown, hits, current, selected),
      time: this.times ? clock(row.at) : '',
      hidden: row.text.length - shown,
      beyond: row.cut,
      isTarget,
      isContext: this.#filtered !== null && hits.length === 0,
      isFailure: false,
    };
  }

  /** Wrapped rows have heights of their own: the anchor is put to its place after they are drawn. */
  #measure(part: geometry.Slice): void {
    const { layer } = this;
    if (!layer) return;
    const at = Math.min(Math.floor(part.anchor), part.last);
    const element = layer.children[at - part.first];
    if (!(element instanceof HTMLElement)) return;
    const y = element.offsetTop + (part.anchor - at) * element.offsetHeight;
    const { offsetHeight } = layer;
    flushSync(() => {
      this.offset = part.anchorY - y;
      this.drawnHeight = offsetHeight;
    });
  }

  /** Puts the scroll bar where the position is. */
  #place(): void {
    if (!this.scroller) return;
    const top = geometry.scrollTopOf(this.#geometry(), this.#position);
    // A scaled bar is only corrected when it is clearly off: each correction stops the momentum of a touchpad.
    const tolerance = geometry.isScaled(this.#geometry()) && !this.isFollowing ? 2000 : 1;
    if (Math.abs(this.scroller.scrollTop - top) > tolerance) this.scroller.scrollTop = top;
    this.#scrollTop = this.scroller.scrollTop;
  }

  /** Loads the rows in the window that are not in memory. */
  #need(rows: VisibleRow[]): void {
    const missing = rows.filter(({ kind }) => kind === 'loading').map(({ row }) => row);
    const first = missing[0];
    const last = missing[missing.length - 1];
    if (first === undefined || last === undefined) return;
    if (this.#load && first >= this.#load.first && last <= this.#load.last) return;
    this.#load?.abort.abort();
    const load = { abort: new AbortController(), first, last };
    this.#load = load;
    void this.document.load(first, last, load.abort.signal).then(
      () => {
        if (this.#load === load) this.#load = null;
        this.requestDraw();
      },
      () => {
        if (this.#load === load) this.#load = null;
      },
    );
  }
}

function piece(text: string): Segment {
  return { text, css: '', link: null, hit: 0, selected: false };
}

/** `0:12.345`, `1:02:03.456`: the time since the start. */
export function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  const rest = `${two(seconds % 60)}.${String(Math.floor(ms % 1000)).padStart(3, '0')}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}
