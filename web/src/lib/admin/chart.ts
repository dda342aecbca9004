// The geometry of the charts: a path through points on a time axis, and a round upper bound for the values.

/** The area that a chart draws into, and what its edges mean. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly from: number;
  readonly to: number;
  readonly max: number;
}

/** A place on a chart; `null` where the value is not known. */
export interface Place {
  readonly at: number;
  readonly value: number | null;
}

/** The horizontal place of a time. */
export function xOf(frame: Frame, at: number): number {
  const span = frame.to - frame.from;
  return span <= 0 ? 0 : ((at - frame.from) / span) * frame.width;
}

/** The vertical place of a value. One pixel stays free at both edges, so that the line is not cut. */
export function yOf(frame: Frame, value: number): number {
  const share = frame.max <= 0 ? 0 : Math.min(1, Math.max(0, value / frame.max));
  return 1 + (1 - share) * (frame.height - 2);
}

const round = (value: number): string => String(Math.round(value * 10) / 10);

/** The path of the line; it is interrupted where a value is not known. */
export function linePath(frame: Frame, places: readonly Place[]): string {
  let path = '';
  let isDrawing = false;
  for (const { at, value } of places) {
    if (value === null || !Number.isFinite(value)) {
      isDrawing = false;
      continue;
    }
    path += `${isDrawing ? 'L' : 'M'}${round(xOf(frame, at))} ${round(yOf(frame, value))}`;
    isDrawing = true;
  }
  return path;
}

/** The smallest "round" number (1, 2 or 5 times a power of `base`) that is at least `value`. */
export function niceMax(value: number, base: 10 | 1024 = 10): number {
  if (!Number.isFinite(value) || value <= 0) return 1;
  const unit = base === 1024 ? 1024 ** Math.floor(Math.log(value) / Math.log(1024)) : 1;
  const scaled = value / unit;
  const power = 10 ** Math.floor(Math.log10(scaled));
  const step = [1, 2, 5, 10].find((candidate) => candidate * power >= scaled * 0.999999) ?? 10;
  return step * power * unit;
}
