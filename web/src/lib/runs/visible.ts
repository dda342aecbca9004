// One row of an output view as it is drawn: its parts with styles, hits and selection, and what is left out.
import { runs } from '../strings/runs';
import type { Execution } from './Execution.svelte';
import type { RowMap } from './rowmap';
import type { SearchState } from './search.svelte';
import { segments, type Segment } from './segments';
import { isEmpty, rangeIn, type Selection } from './selection';
import { endWords, isSuccess } from './words';

/** A line longer than this is cut until somebody asks for the rest. */
export const MAX_SHOWN = 1 << 16;

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
  /** Characters of the line that are shown, for the width of the content. */
  width: number;
  isTarget: boolean;
  isContext: boolean;
  isFailure: boolean;
}

/** What the rows of a view are made from. */
export interface Source {
  execution: Execution;
  map: RowMap;
  search: SearchState;
  selection: Selection | null;
  target: { first: number; last: number } | null;
  /** Lines that are shown in full. */
  expanded: ReadonlySet<number>;
  /** Whether only matching lines are shown, with some around them. */
  isFiltered: boolean;
  times: boolean;
}

/** The row at an index of the view: a line, a fold, the end, or a line that is not in memory. */
export function visibleRow(source: Source, index: number): VisibleRow {
  const { execution, map, target } = source;
  const base = { index, row: -1, segments: [], time: '', hidden: 0, beyond: 0, width: 0 };
  const flags = { isTarget: false, isContext: false, isFailure: false };
  if (index >= map.length) {
    const { exit, durationMs } = execution;
    const text = exit ? endWords(exit, durationMs) : '';
    return { ...base, ...flags, kind: 'end', segments: [piece(text)], isFailure: exit !== null && !isSuccess(exit) };
  }
  const at = map.at(index);
  if (typeof at !== 'number') return { ...base, ...flags, kind: 'fold', segments: [piece(runs.folded(at.hidden))] };
  const row = execution.document.row(at);
  const isTarget = target !== null && at + 1 >= target.first && at + 1 <= target.last;
  if (row === null) {
    const isLost = execution.document.isLost(at);
    const text = isLost ? runs.lostRow : runs.loadingRow;
    return { ...base, ...flags, row: at, isTarget, kind: isLost ? 'lost' : 'loading', segments: [piece(text)] };
  }
  const limit = source.expanded.has(at) ? Infinity : MAX_SHOWN;
  const shown = Math.min(row.text.length, limit);
  const { hits, current } = source.search.hitsIn(at, shown < row.text.length ? row.text.slice(0, shown) : row.text);
  const selected = isEmpty(source.selection) ? null : rangeIn(source.selection, at, row.text.length);
  return {
    index,
    row: at,
    kind: row.kind,
    segments: segments(row, shown, hits, current, selected),
    time: source.times ? clock(row.at) : '',
    hidden: row.text.length - shown,
    beyond: row.cut,
    width: Math.min(shown, MAX_SHOWN),
    isTarget,
    isContext: source.isFiltered && hits.length === 0,
    isFailure: false,
  };
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
