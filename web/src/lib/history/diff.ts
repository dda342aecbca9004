// The difference of two texts by lines (Myers, linear search forward), bounded: texts that differ too much are
// reported as such instead of being compared for minutes.

/** One line of the result. Line numbers count from 1; a line that is only on one side has no number on the other. */
export interface DiffLine {
  readonly kind: 'same' | 'left' | 'right';
  readonly text: string;
  readonly left: number | null;
  readonly right: number | null;
}

/** The result of a comparison. */
export interface Diff {
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
  /** Whether the texts differ in more than `maxEdits` lines: the middle is then shown as replaced. */
  readonly isCoarse: boolean;
}

/** The number of differing lines up to which the shortest difference is searched. Memory grows with its square. */
export const MAX_EDITS = 2000;

/** The lines of a text; a final line feed does not begin another line. */
export function splitLines(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  return lines;
}

/** Compares two lists of lines. */
export function diffLines(left: readonly string[], right: readonly string[], maxEdits = MAX_EDITS): Diff {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let leftEnd = left.length;
  let rightEnd = right.length;
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) {
    leftEnd -= 1;
    rightEnd -= 1;
  }
  const lines: DiffLine[] = [];
  const same = (l: number, r: number): void => {
    lines.push({ kind: 'same', text: left[l] ?? '', left: l + 1, right: r + 1 });
  };
  for (let at = 0; at < start; at += 1) same(at, at);
  const middleLeft = left.slice(start, leftEnd);
  const middleRight = right.slice(start, rightEnd);
  const steps = shortestEdits(middleLeft, middleRight, maxEdits);
  let l = start;
  let r = start;
  for (const step of steps ?? replaced(middleLeft.length, middleRight.length)) {
    if (step === 'same') same(l++, r++);
    else if (step === 'left') lines.push({ kind: 'left', text: left[l] ?? '', left: ++l, right: null });
    else lines.push({ kind: 'right', text: right[r] ?? '', left: null, right: ++r });
  }
  for (; l < left.length; l += 1, r += 1) same(l, r);
  const count = (kind: DiffLine['kind']): number => lines.reduce((sum, line) => sum + (line.kind === kind ? 1 : 0), 0);
  return { lines, added: count('right'), removed: count('left'), isCoarse: steps === null };
}

function replaced(left: number, right: number): DiffLine['kind'][] {
  return [...Array<'left'>(left).fill('left'), ...Array<'right'>(right).fill('right')];
}

/** The steps of the shortest difference; `null` if it has more than `maxEdits`. */
function shortestEdits(left: readonly string[], right: readonly string[], maxEdits: number): DiffLine['kind'][] | null {
  const limit = Math.min(maxEdits, left.length + right.length);
  const offset = limit + 1;
  const furthest = new Int32Array(2 * limit + 3);
  // The furthest places before each round, only of the diagonals that the round could reach.
  const rounds: Int32Array[] = [];
  for (let edits = 0; edits <= limit; edits += 1) {
    rounds.push(furthest.slice(offset - edits - 1, offset + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = stepsDown(furthest, offset, diagonal, edits)
        ? (furthest[offset + diagonal + 1] ?? 0)
        : (furthest[offset + diagonal - 1] ?? 0) + 1;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x += 1;
      furthest[offset + diagonal] = x;
      if (x >= left.length && x - diagonal >= right.length) return walkBack(rounds, left.length, right.length);
    }
  }
  return null;
}

function stepsDown(furthest: Int32Array, offset: number, diagonal: number, edits: number): boolean {
  if (diagonal === -edits) return true;
  if (diagonal === edits) return false;
  return (furthest[offset + diagonal - 1] ?? 0) < (furthest[offset + diagonal + 1] ?? 0);
}

function walkBack(rounds: readonly Int32Array[], leftLength: number, rightLength: number): DiffLine['kind'][] {
  const steps: DiffLine['kind'][] = [];
  let x = leftLength;
  let y = rightLength;
  for (let edits = rounds.length - 1; edits >= 0; edits -= 1) {
    const before = rounds[edits] ?? new Int32Array();
    const offset = edits + 1;
    const diagonal = x - y;
    const isDown = stepsDown(before, offset, diagonal, edits);
    const previous = isDown ? diagonal + 1 : diagonal - 1;
    const fromX = edits === 0 ? 0 : (before[offset + previous] ?? 0);
    const fromY = edits === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      steps.push('same');
      x -= 1;
      y -= 1;
    }
    if (edits === 0) break;
    steps.push(isDown ? 'right' : 'left');
    x = fromX;
    y = fromY;
  }
  return steps.reverse();
}

/** A part of a difference: lines to show, or a fold of equal lines. */
export type Hunk =
  | { readonly kind: 'lines'; readonly lines: readonly DiffLine[] }
  | { readonly kind: 'fold'; readonly lines: readonly DiffLine[] };

/** Folds runs of equal lines, except `context` lines beside each difference. */
export function foldSame(lines: readonly DiffLine[], context = 3): Hunk[] {
  const shown = new Uint8Array(lines.length);
  lines.forEach((line, at) => {
    if (line.kind === 'same') return;
    shown.fill(1, Math.max(0, at - context), Math.min(lines.length, at + context + 1));
  });
  const hunks: Hunk[] = [];
  let begin = 0;
  for (let at = 1; at <= lines.length; at += 1) {
    if (at < lines.length && shown[at] === shown[begin]) continue;
    const part = lines.slice(begin, at);
    // A fold of one line would take as much room as the line.
    hunks.push({ kind: shown[begin] === 1 || part.length < 2 ? 'lines' : 'fold', lines: part });
    begin = at;
  }
  return lines.length === 0 ? [] : hunks;
}
