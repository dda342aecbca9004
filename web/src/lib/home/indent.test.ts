// Tests of the indentation.
import { describe, expect, test } from 'vitest';
import { indent, newLine, type Edit } from './indent';

/** The text with `[` and `]` around the selection. */
function run(text: string, edit: (value: string, start: number, end: number) => Edit | null): string {
  const start = text.indexOf('[');
  const end = text.indexOf(']') - 1;
  const value = text.replace('[', '').replace(']', '');
  const done = edit(value, start, end);
  if (!done) return text;
  const next = value.slice(0, done.from) + done.text + value.slice(done.to);
  return `${next.slice(0, done.start)}[${next.slice(done.start, done.end)}]${next.slice(done.end)}`;
}

describe('indent', () => {
  const more = (text: string): string => run(text, (value, start, end) => indent(value, start, end, false));
  const less = (text: string): string => run(text, (value, start, end) => indent(value, start, end, true));

  test('at the caret', () => expect(more('a[]b')).toBe('a    []b'));
  test('lines of a selection', () => expect(more('a[b\nc]d')).toBe('    a[b\n    c]d'));
  test('tabs where the code uses tabs', () => expect(more('\tx\n[]y')).toBe('\tx\n\t[]y'));
  test('out', () => expect(less('    a[b\n  c]d')).toBe('a[b\nc]d'));
  test('out of nothing', () => expect(less('a[]b')).toBe('a[]b'));
});

describe('new line', () => {
  const enter = (text: string): string => run(text, newLine);

  test('keeps the indentation', () => expect(enter('  a[]')).toBe('  a\n  []'));
  test('opens a block', () => expect(enter('if x:[]')).toBe('if x:\n    []'));
  test('leaves the rest to the browser', () => expect(enter('a[]')).toBe('a[]'));
});
