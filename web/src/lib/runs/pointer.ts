// From a place on the screen to a row and a column of the output.
import type { Position } from './selection';

/** Returns the position in the output under a point, or null if there is no row. */
export function positionAt(x: number, y: number): Position | null {
  const element = document.elementFromPoint(x, y)?.closest<HTMLElement>('[data-row]');
  const row = Number(element?.dataset['row'] ?? -1);
  const text = element?.querySelector<HTMLElement>('.text');
  if (!text || row < 0) return null;
  const box = text.getBoundingClientRect();
  if (x <= box.left) return { row, column: 0 };
  const caret = caretAt(x, y);
  if (!caret || !text.contains(caret.node)) return { row, column: (text.textContent ?? '').length };
  let column = caret.offset;
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && node !== caret.node; node = walker.nextNode()) {
    column += node.textContent?.length ?? 0;
  }
  return { row, column };
}

function caretAt(x: number, y: number): { node: Node; offset: number } | null {
  if ('caretPositionFromPoint' in document) {
    const caret = document.caretPositionFromPoint(x, y);
    return caret && caret.offsetNode.nodeType === Node.TEXT_NODE
      ? { node: caret.offsetNode, offset: caret.offset }
      : null;
  }
  const range = (document as Document).caretRangeFromPoint(x, y);
  return range && range.startContainer.nodeType === Node.TEXT_NODE
    ? { node: range.startContainer, offset: range.startOffset }
    : null;
}
