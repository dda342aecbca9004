// A selection in the output, by row and column, so that it can be longer than what is drawn.
import type { Range } from './segments';

export interface Position {
  row: number;
  column: number;
}

export interface Selection {
  anchor: Position;
  focus: Position;
}

export function compare(a: Position, b: Position): number {
  return a.row - b.row || a.column - b.column;
}

/** The selection from its start to its end. */
export function ordered({ anchor, focus }: Selection): { from: Position; to: Position } {
  return compare(anchor, focus) <= 0 ? { from: anchor, to: focus } : { from: focus, to: anchor };
}

export function isEmpty(selection: Selection | null): boolean {
  return selection === null || compare(selection.anchor, selection.focus) === 0;
}

/** The selected part of a row. */
export function rangeIn(selection: Selection | null, row: number, length: number): Range | null {
  if (selection === null) return null;
  const { from, to } = ordered(selection);
  if (row < from.row || row > to.row) return null;
  const start = row === from.row ? Math.min(from.column, length) : 0;
  const end = row === to.row ? Math.min(to.column, length) : length;
  return start < end ? { start, end } : null;
}

/** The word around a column, for a double click. */
export function wordAt(text: string, column: number): Range {
  const isWord = (char: string): boolean => /[\p{L}\p{N}_./:@%+~-]/u.test(char);
  let [start, end] = [column, column];
  while (start > 0 && isWord(text.charAt(start - 1))) start -= 1;
  while (end < text.length && isWord(text.charAt(end))) end += 1;
  if (start === end) end = Math.min(text.length, column + 1);
  return { start, end };
}
