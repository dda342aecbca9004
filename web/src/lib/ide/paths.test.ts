import { describe, expect, it } from 'vitest';
import {
  afterMove,
  ancestorsOf,
  canMoveInto,
  checkName,
  compareEntries,
  freeName,
  isWithin,
  join,
  nameOf,
  normalise,
  parentOf,
  stemOf,
  suffixOf,
} from './paths';

const none = () => false;

describe('paths', () => {
  it('has one form for each path', () => {
    for (const path of ['src/a', '/src/a', '/workspace/src/a', './src/./a', 'src//a/', 'src/x/../a']) {
      expect(normalise(path)).toBe('src/a');
    }
    expect(normalise('/workspace')).toBe('');
    expect(normalise('/workspaces/a')).toBe('workspaces/a');
    expect(normalise('../../a')).toBe('a');
  });

  it('takes paths apart and puts them together', () => {
    expect(parentOf('a/b/c.py')).toBe('a/b');
    expect(parentOf('c.py')).toBe('');
    expect(nameOf('a/b/c.py')).toBe('c.py');
    expect(suffixOf('a.b/c')).toBe('');
    expect(suffixOf('.bashrc')).toBe('');
    expect(suffixOf('x.tar.gz')).toBe('gz');
    expect(suffixOf('x.C')).toBe('C');
    expect(stemOf('src/main.cpp')).toBe('main');
    expect(join('', 'a')).toBe('a');
    expect(join('a', 'b')).toBe('a/b');
    expect(ancestorsOf('a/b/c')).toEqual(['a', 'a/b']);
    expect(ancestorsOf('a')).toEqual([]);
  });

  it('knows what is within a folder', () => {
    expect(isWithin('src/a', 'src')).toBe(true);
    expect(isWithin('src', 'src')).toBe(true);
    expect(isWithin('srcs/a', 'src')).toBe(false);
    expect(isWithin('anything', '')).toBe(true);
  });

  it('follows a move', () => {
    expect(afterMove('src/a', 'src', 'lib')).toBe('lib/a');
    expect(afterMove('src', 'src', 'lib')).toBe('lib');
    expect(afterMove('srcs/a', 'src', 'lib')).toBe('srcs/a');
  });

  it('refuses names that cannot exist, and allows new folders', () => {
    expect(checkName('  ', '', none)).toBe('empty');
    expect(checkName('/etc', '', none)).toBe('absolute');
    expect(checkName('a/../b', '', none)).toBe('dots');
    expect(checkName('a//b', '', none)).toBe('dots');
    expect(checkName('a\0b', '', none)).toBe('null');
    expect(checkName('é'.repeat(128), '', none)).toBe('long');
    expect(checkName('a', 'src', (path) => path === 'src/a')).toBe('taken');
    expect(checkName('<img src=x onerror=alert(1)>', '', none)).toBe(null);
    expect(checkName('src/new/', '', none)).toBe(null);
  });

  it('finds a free name', () => {
    const taken = new Set(['a.py', 'a 2.py']);
    expect(freeName('a.py', (path) => taken.has(path))).toBe('a 3.py');
    expect(freeName('b', none)).toBe('b');
  });

  it('does not move a folder into itself', () => {
    expect(canMoveInto('a', 'a')).toBe(false);
    expect(canMoveInto('a', 'a/b')).toBe(false);
    expect(canMoveInto('a/b', 'a')).toBe(false);
    expect(canMoveInto('a/b', '')).toBe(true);
    expect(canMoveInto('a', 'ab')).toBe(true);
  });

  it('orders folders first and numbers by value', () => {
    const names = [
      { name: 'b10', type: 'file' },
      { name: 'b2', type: 'file' },
      { name: 'z', type: 'folder' },
      { name: 'A', type: 'file' },
    ];
    expect(names.sort(compareEntries).map((entry) => entry.name)).toEqual(['z', 'A', 'b2', 'b10']);
  });
});
