// Runs of styled text in a row: sorted, without overlap, and only where the style is not plain.
import { isPlain, sameStyle, type Style } from './style';

export interface Span {
  start: number;
  end: number;
  style: Style;
}

/** Gives `start..end` a style, in place of what it had. */
export function setSpan(spans: Span[], start: number, end: number, style: Style): void {
  if (start >= end) return;
  const last = spans[spans.length - 1];
  if (last === undefined || last.end <= start) {
    if (isPlain(style)) return;
    if (last !== undefined && last.end === start && sameStyle(last.style, style)) last.end = end;
    else spans.push({ start, end, style });
    return;
  }
  const next: Span[] = [];
  let placed = isPlain(style);
  const place = (): void => {
    if (placed) return;
    placed = true;
    push(next, { start, end, style });
  };
  for (const span of spans) {
    if (span.end <= start) push(next, span);
    else if (span.start >= end) {
      place();
      push(next, span);
    } else {
      if (span.start < start) push(next, { start: span.start, end: start, style: span.style });
      place();
      if (span.end > end) push(next, { start: end, end: span.end, style: span.style });
    }
  }
  place();
  spans.splice(0, spans.length, ...next);
}

/** Removes the styles from `length` on. */
export function cutSpans(spans: Span[], length: number): void {
  while (spans.length > 0) {
    const last = spans[spans.length - 1] as Span;
    if (last.start >= length) spans.pop();
    else {
      last.end = Math.min(last.end, length);
      return;
    }
  }
}

/** Moves the styles from `at` on by `by` columns; a negative `by` removes what lies between. */
export function shiftSpans(spans: Span[], at: number, by: number): void {
  const next: Span[] = [];
  for (const span of spans) {
    const move = (column: number): number => (column <= at ? column : Math.max(at, column + by));
    const start = span.start < at ? span.start : by > 0 ? span.start + by : Math.max(at, span.start + by);
    const moved = { start, end: move(span.end), style: span.style };
    if (moved.start < moved.end) push(next, moved);
  }
  spans.splice(0, spans.length, ...next);
}

function push(spans: Span[], span: Span): void {
  const last = spans[spans.length - 1];
  if (last !== undefined && last.end === span.start && sameStyle(last.style, span.style)) last.end = span.end;
  else spans.push({ ...span });
}
