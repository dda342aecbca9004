// Search and replace in the workspace without a view: the patterns, the ranking of names, and the replacement.
import type { SearchMatch } from 'headwater';
import { columnOf } from './diagnostics';
import { nameOf } from './paths';

export interface SearchOptions {
  text: string;
  regex: boolean;
  matchCase: boolean;
  wholeWord: boolean;
}

/** The regular expression that the server searches with. */
export function patternOf(options: SearchOptions): string {
  const body = options.regex ? options.text : options.text.replace(/[\\^$.*+?()[\]{}|#&~-]/g, '\\$&');
  return options.wholeWord ? `\\b(?:${body})\\b` : body;
}

/** The same expression in JavaScript, for replacing; null if it is not valid here. */
export function expressionOf(options: SearchOptions): RegExp | null {
  const body = options.regex ? options.text : options.text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  try {
    return new RegExp(options.wholeWord ? `\\b(?:${body})\\b` : body, options.matchCase ? 'gmu' : 'gimu');
  } catch {
    return null;
  }
}

/** Replaces all matches and counts them. Without `regex` the replacement is taken as it is, `$1` included. */
export function replaceAll(text: string, options: SearchOptions, replacement: string): { text: string; count: number } {
  const expression = expressionOf(options);
  if (expression === null || options.text === '') return { text, count: 0 };
  const count = text.match(expression)?.length ?? 0;
  const result = options.regex ? text.replace(expression, replacement) : text.replace(expression, () => replacement);
  return { text: result, count };
}

export interface FileMatches {
  path: string;
  matches: SearchMatch[];
}

/** Groups the matches by file, in the order in which the server found them. */
export function groupMatches(items: readonly SearchMatch[]): FileMatches[] {
  const files = new Map<string, SearchMatch[]>();
  for (const match of items) {
    const list = files.get(match.path);
    if (list === undefined) files.set(match.path, [match]);
    else list.push(match);
  }
  return [...files].map(([path, matches]) => ({ path, matches }));
}

/** A line in three parts, so that the match can be shown as such. */
export function splitMatch(match: SearchMatch, options: SearchOptions): { before: string; hit: string; after: string } {
  const line = match.text ?? '';
  const start = columnOf(line, (match.column ?? 1) - (match.text_offset ?? 0)) - 1;
  const expression = expressionOf(options);
  let hit = '';
  if (expression !== null) {
    expression.lastIndex = start;
    const found = expression.exec(line);
    if (found?.index === start) hit = found[0];
  }
  // A long indent would push the match out of sight.
  const before = line.slice(0, start).trimStart();
  return { before: before.length > 40 ? `…${before.slice(-40)}` : before, hit, after: line.slice(start + hit.length) };
}

/**
 * How well a path fits what somebody types to find a file; null if it does not. All characters have to occur in order;
 * the name counts more than its folders, and characters that follow each other more than scattered ones.
 */
export function rankPath(path: string, query: string): number | null {
  const wanted = query.toLowerCase().replace(/\s+/g, '');
  if (wanted === '') return 0;
  const name = nameOf(path).toLowerCase();
  if (name === wanted) return 1000;
  if (name.startsWith(wanted)) return 900 - name.length;
  if (name.includes(wanted)) return 800 - name.length;
  const inName = subsequence(name, wanted);
  if (inName !== null) return 600 + inName;
  const inPath = subsequence(path.toLowerCase(), wanted);
  return inPath === null ? null : 300 + inPath - path.length / 10;
}

function subsequence(text: string, wanted: string): number | null {
  let at = -1;
  let score = 0;
  for (const character of wanted) {
    const found = text.indexOf(character, at + 1);
    if (found < 0) return null;
    score += found === at + 1 ? 5 : /[/_.\- ]/.test(text.charAt(found - 1)) ? 3 : 0;
    at = found;
  }
  return score;
}
