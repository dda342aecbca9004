// Editor tabs without a view: up to two groups side by side, each with its files, and how they change.
import { afterMove, isWithin } from './paths';

export interface TabGroup {
  files: string[];
  active: string | null;
}

export interface TabState {
  groups: TabGroup[];
  /** The group that has the focus: new files open there. */
  focused: number;
}

export const EMPTY_TABS: TabState = { groups: [{ files: [], active: null }], focused: 0 };

const replaceGroup = (state: TabState, index: number, group: TabGroup): TabGroup[] =>
  state.groups.map((old, at) => (at === index ? group : old));

/** Opens a file in the focused group, beside the active tab, or shows the tab that it has there. */
export function openTab(state: TabState, path: string, group = state.focused): TabState {
  const index = Math.min(group, state.groups.length - 1);
  const target = state.groups[index];
  if (target === undefined) return state;
  if (target.files.includes(path)) {
    return { groups: replaceGroup(state, index, { ...target, active: path }), focused: index };
  }
  const at = target.active === null ? target.files.length : target.files.indexOf(target.active) + 1;
  const files = target.files.toSpliced(at, 0, path);
  return { groups: replaceGroup(state, index, { files, active: path }), focused: index };
}

/** Closes a tab. Its neighbour becomes active. An empty second group disappears. */
export function closeTab(state: TabState, path: string, index: number): TabState {
  const group = state.groups[index];
  const at = group?.files.indexOf(path) ?? -1;
  if (group === undefined || at < 0) return state;
  const files = group.files.toSpliced(at, 1);
  const active = group.active === path ? (files[Math.min(at, files.length - 1)] ?? null) : group.active;
  return tidy({ ...state, groups: replaceGroup(state, index, { files, active }) });
}

/** Opens the active file of the focused group in a second group. */
export function splitTabs(state: TabState): TabState {
  const path = state.groups[state.focused]?.active;
  if (state.groups.length > 1 || path === undefined || path === null) return state;
  return { groups: [...state.groups, { files: [path], active: path }], focused: 1 };
}

/** Moves a tab to a place in a group; dropping on the same group reorders. */
export function moveTab(state: TabState, path: string, from: number, to: number, at: number): TabState {
  const source = state.groups[from];
  const target = state.groups[to];
  if (source === undefined || target === undefined || !source.files.includes(path)) return state;
  if (from === to) {
    const old = source.files.indexOf(path);
    const rest = source.files.toSpliced(old, 1);
    const files = rest.toSpliced(at > old ? at - 1 : at, 0, path);
    return { groups: replaceGroup(state, from, { files, active: path }), focused: from };
  }
  const without = closeTabKeeping(source, path);
  const files = target.files.includes(path) ? target.files : target.files.toSpliced(at, 0, path);
  const groups = state.groups.map((group, index) =>
    index === from ? without : index === to ? { files, active: path } : group,
  );
  return tidy({ groups, focused: to });
}

function closeTabKeeping(group: TabGroup, path: string): TabGroup {
  const at = group.files.indexOf(path);
  const files = group.files.toSpliced(at, 1);
  return { files, active: group.active === path ? (files[Math.min(at, files.length - 1)] ?? null) : group.active };
}

/** Follows a move of a file or a folder. */
export function renameTabs(state: TabState, from: string, to: string): TabState {
  return {
    ...state,
    groups: state.groups.map((group) => ({
      files: [...new Set(group.files.map((path) => afterMove(path, from, to)))],
      active: group.active === null ? null : afterMove(group.active, from, to),
    })),
  };
}

/** Closes the tabs of a file, or of everything in a folder. */
export function closeWithin(state: TabState, folder: string): TabState {
  let result = state;
  for (let index = state.groups.length - 1; index >= 0; index -= 1) {
    for (const path of state.groups[index]?.files ?? []) {
      if (isWithin(path, folder)) result = closeTab(result, path, index);
    }
  }
  return result;
}

/** All open files, each once. */
export function openFiles(state: TabState): string[] {
  return [...new Set(state.groups.flatMap((group) => group.files))];
}

/** The file that has the focus. */
export function activeFile(state: TabState): string | null {
  return state.groups[state.focused]?.active ?? null;
}

function tidy(state: TabState): TabState {
  const filled = state.groups.filter((group) => group.files.length > 0);
  const groups = filled.length > 0 ? filled : [{ files: [], active: null }];
  return { groups, focused: Math.min(state.focused, groups.length - 1) };
}

/** Reads remembered tabs; null if they make no sense. */
export function readTabs(stored: unknown): TabState | null {
  if (typeof stored !== 'object' || stored === null || !('groups' in stored)) return null;
  if (!Array.isArray(stored.groups)) return null;
  const groups: TabGroup[] = [];
  for (const group of (stored.groups as unknown[]).slice(0, 2)) {
    if (typeof group !== 'object' || group === null || !('files' in group) || !Array.isArray(group.files)) return null;
    const files = (group.files as unknown[]).filter((path): path is string => typeof path === 'string');
    const active = 'active' in group && typeof group.active === 'string' ? group.active : null;
    groups.push({ files, active: active !== null && files.includes(active) ? active : (files[0] ?? null) });
  }
  const focused = 'focused' in stored && typeof stored.focused === 'number' ? stored.focused : 0;
  return groups.length === 0 ? null : tidy({ groups, focused });
}
