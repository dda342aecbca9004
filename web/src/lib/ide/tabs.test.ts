import { describe, expect, it } from 'vitest';
import {
  activeFile,
  closeTab,
  closeWithin,
  EMPTY_TABS,
  moveTab,
  openFiles,
  openTab,
  readTabs,
  renameTabs,
  splitTabs,
  type TabState,
} from './tabs';

const open = (...paths: string[]): TabState => paths.reduce((state, path) => openTab(state, path), EMPTY_TABS);

describe('tabs', () => {
  it('opens beside the active tab and never twice', () => {
    let state = open('a', 'b', 'c');
    expect(state.groups[0]).toEqual({ files: ['a', 'b', 'c'], active: 'c' });
    state = openTab(state, 'a');
    expect(activeFile(state)).toBe('a');
    expect(openTab(state, 'd').groups[0]?.files).toEqual(['a', 'd', 'b', 'c']);
  });

  it('closes and activates the neighbour', () => {
    const state = openTab(open('a', 'b', 'c'), 'b');
    expect(activeFile(closeTab(state, 'b', 0))).toBe('c');
    expect(activeFile(closeTab(open('a', 'b'), 'b', 0))).toBe('a');
    expect(activeFile(closeTab(open('a'), 'a', 0))).toBe(null);
    expect(closeTab(state, 'x', 0)).toBe(state);
  });

  it('splits into two groups and joins again', () => {
    let state = splitTabs(open('a', 'b'));
    expect(state.groups).toHaveLength(2);
    expect(state.focused).toBe(1);
    expect(splitTabs(state)).toBe(state);
    state = openTab(state, 'c');
    expect(state.groups[1]?.files).toEqual(['b', 'c']);
    state = closeTab(closeTab(state, 'b', 1), 'c', 1);
    expect(state).toEqual({ groups: [{ files: ['a', 'b'], active: 'b' }], focused: 0 });
  });

  it('moves tabs within and between groups', () => {
    expect(moveTab(open('a', 'b', 'c'), 'a', 0, 0, 2).groups[0]?.files).toEqual(['b', 'a', 'c']);
    expect(moveTab(open('a', 'b', 'c'), 'c', 0, 0, 0).groups[0]?.files).toEqual(['c', 'a', 'b']);
    const moved = moveTab(splitTabs(open('a', 'b')), 'a', 0, 1, 0);
    expect(moved.groups.map((group) => group.files)).toEqual([['b'], ['a', 'b']]);
  });

  it('follows renames and deletions of folders', () => {
    const state = open('src/a', 'src/b', 'x');
    expect(openFiles(renameTabs(state, 'src', 'lib'))).toEqual(['lib/a', 'lib/b', 'x']);
    expect(openFiles(closeWithin(state, 'src'))).toEqual(['x']);
    expect(openFiles(closeWithin(splitTabs(open('src/a')), 'src'))).toEqual([]);
  });

  it('reads what was remembered', () => {
    const state = splitTabs(open('a', 'b'));
    expect(readTabs(JSON.parse(JSON.stringify(state)))).toEqual(state);
    expect(readTabs(null)).toBe(null);
    expect(readTabs({ groups: 3 })).toBe(null);
    expect(readTabs({ groups: [{ files: ['a', 1], active: 'z' }] })?.groups[0]).toEqual({ files: ['a'], active: 'a' });
  });
});
