// Editing in a plain text area: indentation with Tab and on a new line. Pure; the text area applies the result.

export interface Edit {
  /** The range to replace. */
  from: number;
  to: number;
  text: string;
  /** The selection afterwards. */
  start: number;
  end: number;
}

function lineStart(value: string, at: number): number {
  return value.lastIndexOf('\n', at - 1) + 1;
}

/** The indentation of code that uses tabs is a tab, otherwise four spaces. */
export function unitOf(value: string): string {
  return /^\t/m.test(value) ? '\t' : '    ';
}

/** What Tab and Shift+Tab do. */
export function indent(value: string, start: number, end: number, isOut: boolean): Edit | null {
  const unit = unitOf(value);
  if (start === end && !isOut)
    return { from: start, to: end, text: unit, start: start + unit.length, end: start + unit.length };
  const from = lineStart(value, start);
  const before = value.slice(from, end);
  const lines = before.split('\n');
  const changed = lines.map((line) => {
    if (!isOut) return line === '' ? line : unit + line;
    if (line.startsWith('\t')) return line.slice(1);
    return line.replace(/^ {1,4}/, '');
  });
  const text = changed.join('\n');
  if (text === before) return null;
  const first = (changed[0]?.length ?? 0) - (lines[0]?.length ?? 0);
  return {
    from,
    to: end,
    text,
    start: Math.max(from, start + first),
    end: Math.max(from, end + text.length - before.length),
  };
}

/** What Enter does: the next line keeps the indentation, and a block that was opened gets one more. */
export function newLine(value: string, start: number, end: number): Edit | null {
  const line = value.slice(lineStart(value, start), start);
  const own = /^[ \t]*/.exec(line)?.[0] ?? '';
  const opens = /[:{([]\s*$/.test(line);
  if (own === '' && !opens) return null;
  const text = `\n${own}${opens ? unitOf(value) : ''}`;
  return { from: start, to: end, text, start: start + text.length, end: start + text.length };
}
