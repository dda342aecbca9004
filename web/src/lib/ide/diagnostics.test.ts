import type { Diagnostic } from 'headwater';
import { describe, expect, it } from 'vitest';
import { columnOf, fixesOf, pathOf, problemsOf, rangeOf } from './diagnostics';

const diagnostic = (fields: Partial<Diagnostic>): Diagnostic => ({
  file: '/workspace/main.cpp',
  line: 1,
  column: 1,
  end_line: 1,
  end_column: 1,
  severity: 'error',
  message: 'wrong',
  fixes: [],
  notes: [],
  ...fields,
});

describe('diagnostics', () => {
  it('converts byte columns to UTF-16 columns', () => {
    expect(columnOf('abc', 1)).toBe(1);
    expect(columnOf('abc', 3)).toBe(3);
    expect(columnOf('é = 1', 4)).toBe(3);
    // A smiley is four bytes and two code units.
    expect(columnOf('😀x', 5)).toBe(3);
    expect(columnOf('abc', 99)).toBe(4);
    expect(columnOf('', 7)).toBe(1);
  });

  it('knows which files are in the workspace', () => {
    expect(pathOf('/workspace/src/a.h')).toBe('src/a.h');
    expect(pathOf('src/a.h')).toBe('src/a.h');
    expect(pathOf('/usr/include/stdio.h')).toBe(null);
    expect(pathOf(null)).toBe(null);
  });

  it('covers a word where the compiler names only a point', () => {
    const lineAt = () => 'int résumé = x;';
    expect(rangeOf({ line: 2, column: 5, end_line: 2, end_column: 5 }, lineAt)).toEqual({
      startLineNumber: 2,
      startColumn: 5,
      endLineNumber: 2,
      endColumn: 11,
    });
    // `x` follows two letters of two bytes each.
    expect(rangeOf({ line: 1, column: 16, end_line: 1, end_column: 17 }, lineAt)).toMatchObject({
      startColumn: 14,
      endColumn: 15,
    });
  });

  it('survives diagnostics without a place', () => {
    expect(rangeOf({}, () => '')).toEqual({
      startLineNumber: 1,
      startColumn: 1,
      endLineNumber: 1,
      endColumn: 2,
    });
    expect(problemsOf([diagnostic({ file: null, message: 'undefined reference' })])[0]).toMatchObject({ path: '' });
  });

  it('lists errors first and keeps notes with their diagnostic', () => {
    const list = problemsOf([
      diagnostic({ severity: 'warning', message: 'w', option: '-Wall' }),
      diagnostic({ message: 'e', notes: [{ file: 'a.h', line: 3, column: 2, message: 'declared here' }] }),
    ]);
    expect(list.map((problem) => problem.message)).toEqual(['e', 'w']);
    expect(list[0]?.notes[0]).toMatchObject({ path: 'a.h', line: 3, severity: 'note' });
    expect(list[1]?.option).toBe('-Wall');
  });

  it('turns fix-its into edits', () => {
    const fixes = fixesOf(
      diagnostic({
        message: "expected ';'",
        fixes: [{ range: { file: '/workspace/main.cpp', line: 1, column: 7, end_line: 1, end_column: 7 }, text: ';' }],
        notes: [
          {
            message: 'did you mean',
            fixes: [{ range: { file: 'b.h', line: 2, column: 1, end_line: 2, end_column: 4 }, text: 'std::' }],
          },
        ],
      }),
      () => 'int é = 1',
    );
    expect(fixes).toEqual([
      {
        title: "expected ';'",
        edits: [
          {
            path: 'main.cpp',
            range: { startLineNumber: 1, startColumn: 6, endLineNumber: 1, endColumn: 6 },
            text: ';',
          },
        ],
      },
      {
        title: 'did you mean',
        edits: [
          { path: 'b.h', range: { startLineNumber: 2, startColumn: 1, endLineNumber: 2, endColumn: 4 }, text: 'std::' },
        ],
      },
    ]);
  });

  it('offers nothing for fixes in system headers', () => {
    const fix = { range: { file: '/usr/include/a.h', line: 1, column: 1 }, text: 'x' };
    expect(fixesOf(diagnostic({ fixes: [fix] }), () => '')).toEqual([]);
  });
});
