// Which ports are news.

/** The last reading; null before the first. */
export type Reading = readonly number[] | null;

/** Ports that nobody was told of. Those of the first reading were open before the page was. */
export function opened(last: Reading, now: readonly number[]): number[] {
  return last === null ? [] : now.filter((port) => !last.includes(port));
}

/** The path of an address within a preview, for the address bar: what was typed may lack the slash. */
export function pathOf(typed: string): string {
  const text = typed.trim();
  return text.startsWith('/') ? text : `/${text}`;
}
