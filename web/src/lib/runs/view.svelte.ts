// What an output view shows at a moment: the rows in its window, drawn at most once a frame.
import { flushSync } from 'svelte';
import type { Execution } from './Execution.svelte';
import { allRows, foldedRows, someRows, withContext, type RowMap } from './rowmap';
import { SearchState } from './search.svelte';
import type { Selection } from './selection';
import * as geometry from './viewport';
import { visibleRow, type Source, type VisibleRow } from './visible';

/** The reader is at the end if less than this is below. */
const NEAR_END = 100;
/** After scrolling up a little, the view does not jump back for this long. */
const UP_MS = 400;
const CONTEXT = 2;
const FOLD_HEAD = 20;
const FOLD_TAIL = 180;

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
  /** Never: a page may draw within `UP_MS` of its beginning, from which its clock counts. */
  #lastUp = -Infinity;
  #seen = 0;
  #frame = 0;
  #later: ReturnType<typeof setTimeout> | undefined;
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
      clearTimeout(this.#later);
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
    this.#lastUp = -Infinity;
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
    const upFor = performance.now() - this.#lastUp;
    const mayJump = upFor > UP_MS;
    if (this.isFollowing && !mayJump) this.#drawLater(UP_MS - upFor);
    this.#position = this.isFollowing && mayJump ? last : Math.min(this.#position, last);
    const part = geometry.slice(shape, this.#position);
    const source = this.#source();
    const rows: VisibleRow[] = [];
    for (let index = part.first; index <= part.last; index += 1) rows.push(visibleRow(source, index));
    const widest = rows.reduce((most, { width }) => Math.max(most, width), this.widest);
    flushSync(() => {
      this.rows = rows;
      this.widest = widest;
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

  /** A program that prints nothing more asks for no draw. */
  #drawLater(ms: number): void {
    clearTimeout(this.#later);
    this.#later = setTimeout(() => this.requestDraw(), ms + 1);
  }

  #source(): Source {
    const { execution, search, selection, target, times } = this;
    const [map, expanded, isFiltered] = [this.#map, this.#expanded, this.#filtered !== null];
    return { execution, map, search, selection, target, expanded, isFiltered, times };
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
