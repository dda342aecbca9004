import { describe, expect, it } from 'vitest';
import { parseVariables, splitWords } from './words';

describe('words', () => {
  it('splits like a shell', () => {
    expect(splitWords('')).toEqual([]);
    expect(splitWords('  a  b ')).toEqual(['a', 'b']);
    expect(splitWords('"a b" c\\ d \'e "f\'')).toEqual(['a b', 'c d', 'e "f']);
    expect(splitWords('a"b"c ""')).toEqual(['abc', '']);
    expect(splitWords('"a\\"b" \'a\\b\'')).toEqual(['a"b', 'a\\b']);
    expect(splitWords('"open')).toEqual(['open']);
    expect(splitWords('$HOME *')).toEqual(['$HOME', '*']);
  });

  it('reads variables', () => {
    expect(parseVariables('A=1\n# no\nexport B="two words"\n\nC=a=b\nbad line\n1X=2')).toEqual({
      env: { A: '1', B: 'two words', C: 'a=b' },
      invalid: ['bad line', '1X=2'],
    });
  });
});
