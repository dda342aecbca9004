// The cursor of a stream, and the control sequences that move it and erase around it.
import { Parser, type ParserState } from './parser';
import { eraseInRow, insert, overwrite, remove, type LiveRow } from './row';
import { StreamDecoder } from './utf8';

/** Rows that stay changeable, at least. No progress display is taller. */
export const LIVE_ROWS = 100;
/** Cursor movement stops at this column, unless the row is longer. */
const MAX_COLUMN = 1000;

/** Where a stream writes next, and its rows that are still live. */
export interface Cursor {
  parser: Parser;
  decoder: StreamDecoder;
  /** The rows of this stream that are still live. */
  rows: LiveRow[];
  /** An index into `rows`; `rows.length` is the row that the next text opens. */
  y: number;
  x: number;
  /** Null until a position is saved. */
  saved: { y: number; x: number } | null;
  /** The row that absolute positions count from, once a program used one; -1 before. */
  origin: number;
}

export interface CursorState {
  parser: ParserState;
  carry: number[];
  rows: number[];
  y: number;
  x: number;
  saved: { y: number; x: number } | null;
  origin: number;
}

export function newCursor(): Cursor {
  return {
    parser: new Parser(),
    decoder: new StreamDecoder(),
    rows: [],
    y: 0,
    x: 0,
    saved: null,
    origin: -1,
  };
}

export function toSaved(cursor: Cursor): void {
  if (!cursor.saved) return;
  cursor.y = Math.min(cursor.saved.y, cursor.rows.length);
  cursor.x = cursor.saved.x;
}

/** Does what a control sequence says: moves the cursor or erases. `open` makes rows up to the one of the cursor. */
export function control(cursor: Cursor, final: string, parameters: number[], open: () => void): void {
  const first = parameters[0] ?? 0;
  const count = Math.max(1, first);
  const current = cursor.rows[cursor.y];
  const width = Math.max(MAX_COLUMN, current?.text.length ?? 0);
  switch (final) {
    case 'A':
    case 'F':
      cursor.y = Math.max(0, cursor.y - count);
      if (final === 'F') cursor.x = 0;
      break;
    case 'B':
    case 'E':
      // As in a terminal, moving down makes no rows.
      cursor.y = Math.min(cursor.rows.length, cursor.y + count);
      if (final === 'E') cursor.x = 0;
      break;
    case 'C':
      cursor.x = Math.min(width, cursor.x + count);
      break;
    case 'D':
      cursor.x = Math.max(0, cursor.x - count);
      break;
    case 'G':
    case '`':
      cursor.x = Math.min(width, count - 1);
      break;
    case 'H':
    case 'f':
      moveTo(cursor, count - 1, Math.min(width, Math.max(1, parameters[1] ?? 1) - 1), open);
      break;
    case 'K':
      if (current) eraseInRow(current, cursor.x, first);
      break;
    case 'J':
      eraseDisplay(cursor, first);
      break;
    case 'X':
      if (current) overwrite(current, cursor.x, Math.min(count, Math.max(0, current.text.length - cursor.x)));
      break;
    case 'P':
      if (current) remove(current, cursor.x, count);
      break;
    case '@':
      if (current && cursor.x < current.text.length) insert(current, cursor.x, Math.min(count, MAX_COLUMN));
      break;
    case 's':
      cursor.saved = { y: cursor.y, x: cursor.x };
      break;
    case 'u':
      toSaved(cursor);
      break;
  }
}

/** An absolute position. The first one of a stream begins a screen below the rows that are there. */
function moveTo(cursor: Cursor, y: number, x: number, open: () => void): void {
  if (cursor.origin < 0 || cursor.origin > cursor.rows.length) cursor.origin = cursor.rows.length;
  const target = Math.min(y, LIVE_ROWS / 2);
  while (cursor.rows.length < cursor.origin + target) {
    cursor.y = cursor.rows.length;
    open();
  }
  cursor.y = Math.min(cursor.rows.length, cursor.origin + target);
  cursor.x = x;
}

function eraseDisplay(cursor: Cursor, mode: number): void {
  if (mode === 0) {
    const current = cursor.rows[cursor.y];
    if (current) eraseInRow(current, cursor.x, 0);
    for (const row of cursor.rows.slice(cursor.y + 1)) eraseInRow(row, 0, 0);
  } else if (mode === 1) {
    for (const row of cursor.rows.slice(Math.max(0, cursor.origin), cursor.y)) eraseInRow(row, 0, 0);
  } else if (mode === 2 && cursor.origin >= 0) {
    // A program that redraws its screen draws over it. What was printed before the first position stays.
    for (const row of cursor.rows.slice(cursor.origin)) eraseInRow(row, 0, 0);
  }
}
