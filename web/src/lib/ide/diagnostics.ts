// Diagnostics of builds as positions in an editor. The server counts columns in bytes of UTF-8 from 1, Monaco in
// UTF-16 code units from 1, so each position needs the text of its line.
import type { Diagnostic } from 'headwater';
import { normalise } from './paths';

export type Severity = 'error' | 'warning' | 'note';

/** A range in an editor: lines and columns from 1, the end exclusive. */
export interface EditorRange {
  startLineNumber: number;
  startColumn: number;
  endLineNumber: number;
  endColumn: number;
}

export interface Edit {
  path: string;
  range: EditorRange;
  text: string;
}

/** One problem as the list shows it: a diagnostic or one of its notes. */
export interface Problem {
  path: string;
  line: number;
  column: number;
  severity: Severity;
  message: string;
  option: string | null;
  notes: Problem[];
  source: Diagnostic;
}

interface SourceRange {
  file?: string | null;
  line?: number;
  column?: number;
  end_line?: number;
  end_column?: number;
}

const utf8 = new TextEncoder();

/** The UTF-16 column (from 1) of a byte column (from 1) of a line. A column past the end is the end. */
export function columnOf(line: string, byteColumn: number): number {
  if (byteColumn <= 1) return 1;
  let bytes = 1;
  let units = 0;
  for (const character of line) {
    if (bytes >= byteColumn) break;
    bytes += utf8.encode(character).length;
    units += character.length;
  }
  return units + 1;
}

/** The file of a range as a workspace path; null for system headers and for messages without a place. */
export function pathOf(file: string | null | undefined): string | null {
  if (file === null || file === undefined || file === '') return null;
  if (file.startsWith('/') && !file.startsWith('/workspace/')) return null;
  return normalise(file);
}

/**
 * The range in the editor. `lineAt` returns the text of a line (from 1). An empty or missing range covers the word at
 * the position, so that the marker can be seen.
 */
export function rangeOf(range: SourceRange, lineAt: (line: number) => string): EditorRange {
  const startLineNumber = Math.max(1, range.line ?? 1);
  const text = lineAt(startLineNumber);
  const startColumn = columnOf(text, range.column ?? 1);
  const endLineNumber = Math.max(startLineNumber, range.end_line ?? startLineNumber);
  const hasEnd =
    (range.end_column ?? 0) > 0 && (endLineNumber > startLineNumber || (range.end_column ?? 0) > (range.column ?? 0));
  if (hasEnd) {
    const endColumn = columnOf(lineAt(endLineNumber), range.end_column ?? 1);
    return { startLineNumber, startColumn, endLineNumber, endColumn };
  }
  const word = /^[\p{L}\p{N}_]+/u.exec(text.slice(startColumn - 1))?.[0] ?? '';
  return {
    startLineNumber,
    startColumn,
    endLineNumber: startLineNumber,
    endColumn: startColumn + Math.max(1, word.length),
  };
}

/** A fix replaces exactly its range; an empty range is an insertion. */
function editRange(range: SourceRange, lineAt: (line: number) => string): EditorRange {
  const startLineNumber = Math.max(1, range.line ?? 1);
  const endLineNumber = Math.max(startLineNumber, range.end_line ?? startLineNumber);
  const startColumn = columnOf(lineAt(startLineNumber), range.column ?? 1);
  const endColumn = columnOf(lineAt(endLineNumber), Math.max(range.end_column ?? 1, 1));
  return {
    startLineNumber,
    startColumn,
    endLineNumber,
    endColumn: endLineNumber === startLineNumber ? Math.max(startColumn, endColumn) : endColumn,
  };
}

/** The list of problems of a build, errors first, each group in the order of the compiler. */
export function problemsOf(diagnostics: readonly Diagnostic[]): Problem[] {
  const rank = { error: 0, warning: 1, note: 2 };
  return diagnostics.map((diagnostic) => problemOf(diagnostic)).sort((a, b) => rank[a.severity] - rank[b.severity]);
}

function problemOf(diagnostic: Diagnostic): Problem {
  const place = (range: SourceRange) => ({
    path: pathOf(range.file) ?? range.file ?? '',
    line: range.line ?? 0,
    column: range.column ?? 0,
  });
  return {
    ...place(diagnostic),
    severity: diagnostic.severity,
    message: diagnostic.message,
    option: diagnostic.option ?? null,
    source: diagnostic,
    notes: diagnostic.notes.map((note) => ({
      ...place(note),
      severity: 'note' as const,
      message: note.message,
      option: null,
      notes: [],
      source: diagnostic,
    })),
  };
}

/** The changes that a diagnostic offers, its notes' included, as edits; each becomes one code action. */
export function fixesOf(
  diagnostic: Diagnostic,
  lineAt: (path: string, line: number) => string,
): { title: string; edits: Edit[] }[] {
  const convert = (fixes: Diagnostic['fixes']): Edit[] =>
    fixes.flatMap((fix) => {
      const path = pathOf(fix.range.file ?? diagnostic.file);
      if (path === null) return [];
      return [{ path, range: editRange(fix.range, (line) => lineAt(path, line)), text: fix.text }];
    });
  const own = convert(diagnostic.fixes);
  const actions = own.length > 0 ? [{ title: diagnostic.message, edits: own }] : [];
  for (const note of diagnostic.notes) {
    const edits = convert(note.fixes ?? []);
    if (edits.length > 0) actions.push({ title: note.message, edits });
  }
  return actions;
}
