// Which rows are shown: all, those that match, or all but a folded middle.

/** A place where rows are hidden, instead of a row. */
export interface Fold {
  hidden: number;
}

export interface RowMap {
  readonly length: number;
  /** The row of the document, or a fold. */
  at(index: number): number | Fold;
  /** The index that shows a row, or the nearest one after it. */
  indexOf(row: number): number;
}

export function allRows(length: number): RowMap {
  return { length, at: (index) => index, indexOf: (row) => row };
}

/** Hides the middle of long output. */
export function foldedRows(length: number, head: number, tail: number): RowMap {
  const hidden = length - head - tail;
  if (hidden <= 1) return allRows(length);
  return {
    length: head + 1 + tail,
    at: (index) => (index < head ? index : index === head ? { hidden } : index - 1 + hidden),
    indexOf: (row) => (row < head ? row : row < head + hidden ? head : row - hidden + 1),
  };
}

/** Shows these rows only. They are sorted. */
export function someRows(rows: readonly number[]): RowMap {
  return {
    length: rows.length,
    at: (index) => rows[index] ?? 0,
    indexOf(row) {
      const found = lowerBound(rows, row);
      return Math.min(found, Math.max(0, rows.length - 1));
    },
  };
}

/** Returns the rows with hits and `context` rows around each. */
export function withContext(hits: readonly number[], length: number, context: number): number[] {
  const rows: number[] = [];
  for (const hit of hits) {
    const from = Math.max((rows[rows.length - 1] ?? -1) + 1, hit - context);
    for (let row = from; row <= Math.min(length - 1, hit + context); row += 1) rows.push(row);
  }
  return rows;
}

/** Returns the first index whose value is not less than `value`. */
export function lowerBound(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
