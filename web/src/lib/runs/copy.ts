// Text of the output for the clipboard.
import type { OutputDocument } from './document';
import { ordered, type Selection } from './selection';

/** A clipboard with more than this is of no use to anybody. */
export const MAX_COPY = 64 << 20;

export class TooLargeError extends Error {}

/** The text of a selection if all of it is in memory, otherwise null. */
export function selectedText(document: OutputDocument, selection: Selection): string | null {
  const { from, to } = ordered(selection);
  const parts: string[] = [];
  for (let row = from.row; row <= to.row && row < document.length; row += 1) {
    const text = document.row(row)?.text;
    if (text === undefined) {
      if (!document.isLost(row)) return null;
      continue;
    }
    parts.push(text.slice(row === from.row ? from.column : 0, row === to.row ? to.column : undefined));
  }
  return parts.join('\n');
}

/** The same, and loads what is not in memory. */
export async function loadText(document: OutputDocument, selection: Selection, signal: AbortSignal): Promise<string> {
  const { from, to } = ordered(selection);
  const parts: string[] = [];
  let size = 0;
  for (let row = from.row; row <= to.row && row < document.length; row += 1) {
    if (!document.has(row)) await document.load(row, row, signal);
    signal.throwIfAborted();
    const text = document.row(row)?.text ?? '';
    const part = text.slice(row === from.row ? from.column : 0, row === to.row ? to.column : undefined);
    size += part.length + 1;
    if (size > MAX_COPY) throw new TooLargeError();
    parts.push(part);
  }
  return parts.join('\n');
}

/** Everything. */
export function everything(document: OutputDocument): Selection {
  return { anchor: { row: 0, column: 0 }, focus: { row: document.length, column: 0 } };
}
