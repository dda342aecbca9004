// The fragment of an execution's address: lines (`#L120-L140`) and the token of a share link (`#share=...`).

export interface Fragment {
  /** The first and the last line, counted from 1. */
  lines: { first: number; last: number } | null;
  share: string | null;
}

export function parseFragment(hash: string): Fragment {
  const result: Fragment = { lines: null, share: null };
  for (const part of hash.replace(/^#/, '').split('&')) {
    const lines = /^L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(part);
    if (lines) {
      const [a, b] = [Number(lines[1]), Number(lines[2] ?? lines[1])];
      if (a > 0 && b > 0) result.lines = { first: Math.min(a, b), last: Math.max(a, b) };
    }
    const share = /^share=([\w.~-]{1,200})$/.exec(part);
    if (share?.[1]) result.share = share[1];
  }
  return result;
}

export function formatFragment({ lines, share }: Fragment): string {
  const parts: string[] = [];
  if (share) parts.push(`share=${share}`);
  if (lines) parts.push(lines.first === lines.last ? `L${lines.first}` : `L${lines.first}-L${lines.last}`);
  return parts.length > 0 ? `#${parts.join('&')}` : '';
}
