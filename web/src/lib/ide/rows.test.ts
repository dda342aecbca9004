import type { FileEntry } from 'headwater';
import { describe, expect, it } from 'vitest';
import { flatten, folderFor, step, typeAhead } from './rows';

const entry = (path: string, type: FileEntry['type'] = 'file'): FileEntry => ({
  path,
  name: path.slice(path.lastIndexOf('/') + 1),
  type,
  size: 0,
  mode: '644',
  modified_at: '2026-01-01T00:00:00Z',
  etag: '1',
});
const listings = new Map([
  ['', { entries: [entry('b.py'), entry('.headwater-trash', 'folder'), entry('src', 'folder')], isTruncated: false }],
  ['src', { entries: [entry('src/a.py'), entry('src/empty', 'folder')], isTruncated: true }],
  ['src/empty', { entries: [], isTruncated: false }],
]);
const shape = (open: string[], naming: Parameters<typeof flatten>[2] = null) =>
  flatten(listings, new Set(open), naming).map((row) => `${' '.repeat(row.depth)}${row.kind}:${row.path}`);

describe('rows of the tree', () => {
  it('shows open folders, folders first, and hides the trash', () => {
    expect(shape([])).toEqual(['entry:src', 'entry:b.py']);
    expect(shape(['src', 'src/empty'])).toEqual([
      'entry:src',
      ' entry:src/empty',
      '  note:src/empty',
      ' entry:src/a.py',
      ' note:src',
      'entry:b.py',
    ]);
  });

  it('shows where a name is typed', () => {
    expect(shape(['src'], { kind: 'file', path: 'src' })[1]).toBe(' naming:src');
    expect(shape([], { kind: 'folder', path: '' })[0]).toBe('naming:');
    const rows = flatten(listings, new Set(), { kind: 'rename', path: 'b.py' });
    expect(rows[1]).toMatchObject({ path: 'b.py', isRenaming: true });
  });

  it('moves the selection', () => {
    const rows = flatten(listings, new Set(['src']), null);
    expect(step(rows, null, 1)).toBe('src');
    expect(step(rows, 'src', 1)).toBe('src/empty');
    expect(step(rows, 'src', -1)).toBe('src');
    expect(step(rows, 'src', 99)).toBe('b.py');
    expect(typeAhead(rows, 'src', 'b')).toBe('b.py');
    expect(typeAhead(rows, null, 'zz')).toBe(null);
  });

  it('knows where a new file goes', () => {
    expect(folderFor(null, false)).toBe('');
    expect(folderFor('src', true)).toBe('src');
    expect(folderFor('src/a.py', false)).toBe('src');
  });
});
