import { describe, expect, it } from 'vitest';
import { parseStatus, stateAt } from './git';

describe('git status', () => {
  it('reads the branch in its forms', () => {
    expect(parseStatus('## main\0')).toMatchObject({ branch: 'main', ahead: 0 });
    expect(parseStatus('## main...origin/main [ahead 2, behind 1]\0')).toMatchObject({
      branch: 'main',
      ahead: 2,
      behind: 1,
    });
    expect(parseStatus('## No commits yet on trunk\0').branch).toBe('trunk');
    expect(parseStatus('## HEAD (no branch)\0').branch).toBe('HEAD');
    expect(parseStatus('').branch).toBe('');
  });

  it('reads states, names with spaces and renames', () => {
    const status = parseStatus(
      '## main\0 M a b.py\0A  new.c\0?? fresh/\0R  to.py\0from.py\0UU both.txt\0 D gone\0M  after.py\0',
    );
    expect(Object.fromEntries(status.files)).toEqual({
      'a b.py': 'modified',
      'new.c': 'added',
      fresh: 'untracked',
      'to.py': 'renamed',
      'both.txt': 'conflict',
      gone: 'deleted',
      'after.py': 'modified',
    });
  });

  it('gives folders the state of what they contain', () => {
    const status = parseStatus('## main\0 M src/a/b.py\0?? fresh/\0');
    expect(stateAt(status, 'src')).toBe('modified');
    expect(stateAt(status, 'src/a/b.py')).toBe('modified');
    expect(stateAt(status, 'fresh/deep/x')).toBe('untracked');
    expect(stateAt(status, 'other')).toBe(null);
    expect(stateAt(status, 'sr')).toBe(null);
  });
});
