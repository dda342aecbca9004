// Which entries of the palette match what was typed, best first. Pure.

/** How well `text` matches: higher is better, null if it does not. The letters must occur in order. */
export function score(text: string, query: string): number | null {
  const hay = text.toLowerCase();
  const needle = query.toLowerCase().trim();
  if (needle === '') return 0;
  const at = hay.indexOf(needle);
  if (at >= 0) {
    const startsWord = at === 0 || /[^a-z0-9]/.test(hay[at - 1] ?? '');
    return 1000 - at + (startsWord ? 500 : 0) - hay.length / 100;
  }
  let from = 0;
  let gaps = 0;
  for (const letter of needle) {
    if (letter === ' ') continue;
    const found = hay.indexOf(letter, from);
    if (found < 0) return null;
    gaps += found - from;
    from = found + 1;
  }
  return 100 - gaps - hay.length / 100;
}

export interface Rankable {
  label: string;
  /** Further words by which it can be found. */
  also?: string | undefined;
}

/** The entries that match, best first; in their own order without a query. */
export function rank<T extends Rankable>(entries: readonly T[], query: string): T[] {
  if (query.trim() === '') return [...entries];
  const scored: { entry: T; value: number }[] = [];
  for (const entry of entries) {
    const label = score(entry.label, query);
    const also = entry.also ? score(entry.also, query) : null;
    const value = Math.max(label ?? -Infinity, also === null ? -Infinity : also - 200);
    if (value > -Infinity) scored.push({ entry, value });
  }
  return scored.sort((a, b) => b.value - a.value).map(({ entry }) => entry);
}
