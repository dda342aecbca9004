// Cuts a row into pieces that are drawn alike: by style, link, search hits and selection.
import type { Row } from './blocks';
import { BOLD, cssColour, DEFAULT, DIM, INVERSE, ITALIC, STRIKE, UNDERLINE, webAddress, type Style } from './style';

export interface Range {
  start: number;
  end: number;
}

export interface Segment {
  text: string;
  css: string;
  link: string | null;
  /** 1: a search hit; 2: the current one. */
  hit: 0 | 1 | 2;
  selected: boolean;
}

const URL_IN_TEXT = /\bhttps?:\/\/[^\s<>"'`\x00-\x1f\u200b-\u200f\u202a-\u202e\u2066-\u2069]{2,2000}/gi;

/** Finds addresses in text, without the punctuation behind them. */
export function findLinks(text: string): (Range & { link: string })[] {
  if (!text.includes('://')) return [];
  const found: (Range & { link: string })[] = [];
  for (const match of text.matchAll(URL_IN_TEXT)) {
    let address = match[0].replace(/[.,;:!?]+$/, '');
    // A bracket belongs to the address only if it was opened in it.
    while (/[)\]}]$/.test(address) && !balanced(address)) address = address.slice(0, -1).replace(/[.,;:!?]+$/, '');
    const link = webAddress(address);
    if (link) found.push({ start: match.index, end: match.index + address.length, link });
  }
  return found;
}

function balanced(text: string): boolean {
  const last = text.slice(-1);
  const open = last === ')' ? '(' : last === ']' ? '[' : '{';
  return text.split(open).length >= text.split(last).length;
}

/** Cuts the first `limit` characters of a row. `current` is the index of the current hit, or -1. */
export function segments(
  row: Row,
  limit: number,
  hits: readonly Range[] = [],
  current = -1,
  selection: Range | null = null,
): Segment[] {
  const text = row.text.length > limit ? row.text.slice(0, limit) : row.text;
  const links = findLinks(text);
  const spans = row.spans ?? [];
  if (spans.length === 0 && links.length === 0 && hits.length === 0 && selection === null) {
    return text === '' ? [] : [{ text, css: '', link: null, hit: 0, selected: false }];
  }
  const cuts = new Set<number>([0, text.length]);
  const cut = ({ start, end }: Range): void => {
    if (start > 0 && start < text.length) cuts.add(start);
    if (end > 0 && end < text.length) cuts.add(end);
  };
  spans.forEach(cut);
  links.forEach(cut);
  hits.forEach(cut);
  if (selection) cut(selection);
  const sorted = [...cuts].sort((a, b) => a - b);
  const result: Segment[] = [];
  const cursor = { span: 0, link: 0, hit: 0 };
  for (let i = 0; i + 1 < sorted.length; i += 1) {
    const start = sorted[i] ?? 0;
    const end = sorted[i + 1] ?? 0;
    const style = at(spans, 'span', start)?.style ?? null;
    const hit = at(hits, 'hit', start);
    result.push({
      text: text.slice(start, end),
      css: style ? cssOf(style) : '',
      link: style?.link ?? at(links, 'link', start)?.link ?? null,
      hit: hit === null ? 0 : hits.indexOf(hit) === current ? 2 : 1,
      selected: selection !== null && selection.start <= start && end <= selection.end,
    });
  }
  return result;

  function at<T extends Range>(ranges: readonly T[], name: keyof typeof cursor, position: number): T | null {
    while ((ranges[cursor[name]]?.end ?? Infinity) <= position) cursor[name] += 1;
    const range = ranges[cursor[name]];
    return range && range.start <= position ? range : null;
  }
}

const cssCache = new Map<string, string>();

/** Returns the inline style. It is made from numbers only: nothing that a program printed gets into it. */
export function cssOf(style: Style): string {
  const key = `${style.fg} ${style.bg} ${style.flags}`;
  const known = cssCache.get(key);
  if (known !== undefined) return known;
  const isInverse = (style.flags & INVERSE) !== 0;
  const fg = style.fg === DEFAULT ? null : cssColour(style.fg);
  const bg = style.bg === DEFAULT ? null : cssColour(style.bg);
  const parts: string[] = [];
  const colour = isInverse ? (bg ?? 'var(--bg-inset)') : fg;
  const background = isInverse ? (fg ?? 'var(--text)') : bg;
  if (colour) parts.push(`color:${colour}`);
  if (background) parts.push(`background:${background}`);
  if (style.flags & BOLD) parts.push('font-weight:700');
  if (style.flags & DIM) parts.push('opacity:.7');
  if (style.flags & ITALIC) parts.push('font-style:italic');
  const lines = [style.flags & UNDERLINE ? 'underline' : '', style.flags & STRIKE ? 'line-through' : ''].filter(
    Boolean,
  );
  if (lines.length > 0) parts.push(`text-decoration:${lines.join(' ')}`);
  const css = parts.join(';');
  if (cssCache.size > 5000) cssCache.clear();
  cssCache.set(key, css);
  return css;
}
