// Tests of the colours of the start page.
import { describe, expect, test } from 'vitest';
import { highlight } from './highlight';
import { sampleOf } from './samples';

const kinds = (code: string, language: string): string[] =>
  highlight(code, language)
    .filter(({ kind }) => kind !== 'plain')
    .map(({ kind, text }) => `${kind} ${text}`);

const languages = [
  'python',
  'bash',
  'node',
  'typescript',
  'c',
  'cpp',
  'rust',
  'go',
  'java',
  'perl',
  'ruby',
  'php',
  'lua',
  'r',
  'zig',
];

describe('the tokens are exactly the code', () => {
  test.each(languages)('%s', (language) => {
    const code = `${sampleOf(language)}\n"open 'x' /* y # z\n\`t`;
    expect(
      highlight(code, language)
        .map(({ text }) => text)
        .join(''),
    ).toBe(code);
  });
});

test('python', () => {
  expect(kinds('for x in f"a{b}": # note\n  return 0x1f', 'python')).toEqual([
    'keyword for',
    'keyword in',
    'string f"a{b}"',
    'comment # note',
    'keyword return',
    'number 0x1f',
  ]);
});

test('words that contain a keyword or a digit are plain', () => {
  expect(kinds('format = import2 + x1', 'python')).toEqual([]);
});

test('a string that is not closed ends with its line', () => {
  expect(kinds('"abc\nint x', 'c')).toEqual(['string "abc', 'keyword int']);
});
