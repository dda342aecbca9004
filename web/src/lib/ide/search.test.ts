import { describe, expect, it } from 'vitest';
import { expressionOf, groupMatches, patternOf, rankPath, replaceAll, splitMatch, type SearchOptions } from './search';

const options = (fields: Partial<SearchOptions>): SearchOptions => ({
  text: '',
  regex: false,
  matchCase: true,
  wholeWord: false,
  ...fields,
});

describe('search', () => {
  it('escapes text and keeps expressions', () => {
    expect(patternOf(options({ text: 'a.b(c)' }))).toBe('a\\.b\\(c\\)');
    expect(patternOf(options({ text: 'a.b', regex: true }))).toBe('a.b');
    expect(patternOf(options({ text: 'a', wholeWord: true }))).toBe('\\b(?:a)\\b');
    expect(expressionOf(options({ text: '(', regex: true }))).toBe(null);
    expect(expressionOf(options({ text: 'a-b/#&~' }))?.test('a-b/#&~')).toBe(true);
  });

  it('replaces text as it is, and groups with expressions', () => {
    expect(replaceAll('a.b a.b axb', options({ text: 'a.b' }), '$1')).toEqual({ text: '$1 $1 axb', count: 2 });
    expect(replaceAll('k=v', options({ text: '(\\w)=(\\w)', regex: true }), '$2=$1')).toEqual({
      text: 'v=k',
      count: 1,
    });
    expect(replaceAll('Cat cat concat', options({ text: 'cat', matchCase: false, wholeWord: true }), 'dog')).toEqual({
      text: 'dog dog concat',
      count: 2,
    });
    expect(replaceAll('x', options({ text: '' }), 'y')).toEqual({ text: 'x', count: 0 });
  });

  it('groups matches by file', () => {
    const match = (path: string, line: number) => ({ path, kind: 'file' as const, line, column: 1, text: '' });
    expect(groupMatches([match('a', 1), match('b', 1), match('a', 2)]).map((file) => file.matches.length)).toEqual([
      2, 1,
    ]);
  });

  it('shows the match in its line', () => {
    const match = { path: 'a', kind: 'file' as const, line: 1, column: 8, text: '    é = foo()' };
    expect(splitMatch({ ...match, column: 10 }, options({ text: 'foo' }))).toEqual({
      before: 'é = ',
      hit: 'foo',
      after: '()',
    });
  });

  it('ranks names above folders and rejects what does not fit', () => {
    const rank = (path: string) => rankPath(path, 'main') ?? -1;
    expect(rank('src/main.py')).toBeGreaterThan(rank('src/domain.py'));
    expect(rank('src/domain.py')).toBeGreaterThan(rank('main/other.py'));
    expect(rankPath('src/a.py', 'zzz')).toBe(null);
    expect(rankPath('src/session_store.ts', 'sst')).not.toBe(null);
    expect(rankPath('anything', '')).toBe(0);
  });
});
