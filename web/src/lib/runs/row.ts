// One row of output that may still change: its text and styles, and what programs do to them.
import { cutSpans, setSpan, shiftSpans, type Span } from './spans';
import { PLAIN, type Style } from './style';

export type Stream = 'stdout' | 'stderr' | 'output';
export const STREAMS: readonly Stream[] = ['stdout', 'stderr', 'output'];

/** What a row is: output of a stream, or a note that bytes are missing. */
export type RowKind = Stream | 'gap';

/** A row that may still change. */
export interface LiveRow {
  kind: RowKind;
  text: string;
  /** Null as long as all of it is plain. */
  spans: Span[] | null;
  /** Milliseconds since the start, when its first byte was written. */
  at: number;
  /** Characters of the row that are not kept, because it is very long. */
  cut: number;
}

/** Text of a row beyond this is counted, not kept. */
export const MAX_ROW = 1 << 20;
/** Overwriting in the middle of a longer row drops the rest of the row, so that no program makes it slow. */
const MAX_OVERWRITE = 1 << 15;
/** Writes text at a column, over what is there. */
export function put(row: LiveRow, column: number, text: string, style: Style): void {
  const length = row.text.length;
  if (column > length) {
    row.text += ' '.repeat(column - length);
  }
  if (column >= length) {
    const room = MAX_ROW - row.text.length;
    if (text.length > room) {
      row.cut += text.length - room;
      text = text.slice(0, room);
    }
    row.text += text;
  } else if (length > MAX_OVERWRITE) {
    row.text = whole(row.text.slice(0, column)) + text;
    row.cut = 0;
    if (row.spans) cutSpans(row.spans, column);
  } else {
    row.text = whole(row.text.slice(0, column)) + text + wholeStart(row.text.slice(column + text.length));
  }
  if (row.spans === null) {
    if (style === PLAIN) return;
    row.spans = [];
  }
  setSpan(row.spans, column, column + text.length, style);
}

export function eraseInRow(row: LiveRow, column: number, mode: number): void {
  if (mode === 0) {
    row.text = whole(row.text.slice(0, column));
    if (row.spans) cutSpans(row.spans, column);
  } else if (mode === 1) overwrite(row, 0, Math.min(column + 1, row.text.length));
  else {
    row.text = '';
    row.spans = null;
  }
  row.cut = 0;
}

/** Replaces characters by spaces. */
export function overwrite(row: LiveRow, column: number, count: number): void {
  if (count <= 0 || column >= row.text.length) return;
  put(row, column, ' '.repeat(count), PLAIN);
}

export function remove(row: LiveRow, column: number, count: number): void {
  if (column >= row.text.length) return;
  row.text = whole(row.text.slice(0, column)) + wholeStart(row.text.slice(column + count));
  if (!row.spans) return;
  shiftSpans(row.spans, column, -count);
  cutSpans(row.spans, row.text.length);
}

export function insert(row: LiveRow, column: number, count: number): void {
  if (row.text.length > MAX_OVERWRITE) return;
  row.text = whole(row.text.slice(0, column)) + ' '.repeat(count) + wholeStart(row.text.slice(column));
  if (row.spans) shiftSpans(row.spans, column, count);
}

/** Half of a character outside the BMP becomes a space. */
function whole(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? `${text.slice(0, -1)} ` : text;
}

function wholeStart(text: string): string {
  const first = text.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? ` ${text.slice(1)}` : text;
}
