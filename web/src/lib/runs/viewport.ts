// Which rows are drawn, for any scroll position. A position is a number of rows. The scroll bar has the height of all rows
// as far as browsers allow; beyond that, it is scaled.

/** Browsers clamp elements at about 16 to 33 million pixels. */
export const MAX_HEIGHT = 8_000_000;

export interface Geometry {
  /** All rows. */
  rows: number;
  /** The height of a row that is not wrapped, in pixels. */
  rowHeight: number;
  /** The height of the window, in pixels. */
  height: number;
}

/** The height of the scrolled content. */
export function contentHeight({ rows, rowHeight }: Geometry): number {
  return Math.min(MAX_HEIGHT, rows * rowHeight);
}

/** The largest position: the last row is at the lower edge. */
export function lastPosition({ rows, rowHeight, height }: Geometry): number {
  return Math.max(0, rows - height / rowHeight);
}

export function isScaled({ rows, rowHeight }: Geometry): boolean {
  return rows * rowHeight > MAX_HEIGHT;
}

/** The `scrollTop` of a position. */
export function scrollTopOf(geometry: Geometry, position: number): number {
  if (!isScaled(geometry)) return position * geometry.rowHeight;
  const last = lastPosition(geometry);
  return last === 0 ? 0 : (position / last) * (contentHeight(geometry) - geometry.height);
}

/** The position after the user scrolled from `before` to `scrollTop`. */
export function positionOf(geometry: Geometry, scrollTop: number, before: number, position: number): number {
  const last = lastPosition(geometry);
  const range = contentHeight(geometry) - geometry.height;
  if (!isScaled(geometry)) return clamp(scrollTop / geometry.rowHeight, last);
  if (scrollTop <= 0) return 0;
  if (scrollTop >= range - 1) return last;
  const moved = scrollTop - before;
  // The wheel and the keys move by rows, however long the output is. Dragging the bar moves in proportion.
  if (Math.abs(moved) <= geometry.height * 1.5) return clamp(position + moved / geometry.rowHeight, last);
  return clamp((scrollTop / range) * last, last);
}

export interface Slice {
  /** The rows to draw. */
  first: number;
  last: number;
  /** The row that has a fixed place in the window, with a fraction. */
  anchor: number;
  /** That place, in pixels from the top. */
  anchorY: number;
}

/**
 * The rows for a position. The anchor moves from the top of the window to its bottom as the position moves from the first
 * row to the last, so that both ends are exact even if rows are wrapped and have unknown heights.
 */
export function slice(geometry: Geometry, position: number): Slice {
  const { rows, rowHeight, height } = geometry;
  const last = lastPosition(geometry);
  const share = last === 0 ? 0 : Math.min(1, position / last);
  const anchor = last === 0 ? 0 : Math.min(rows, share * rows);
  const anchorY = last === 0 ? 0 : share * height;
  const above = Math.ceil(anchorY / rowHeight) + 1;
  const below = Math.ceil((height - anchorY) / rowHeight) + 1;
  const at = Math.floor(anchor);
  return { first: Math.max(0, at - above), last: Math.min(rows - 1, at + below), anchor, anchorY };
}

function clamp(value: number, max: number): number {
  return Math.max(0, Math.min(max, value));
}
