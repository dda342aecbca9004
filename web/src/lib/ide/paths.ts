// Rules for workspace paths in the IDE. A path is relative to the workspace, with slashes, and has neither a
// leading nor a trailing slash; the workspace itself is the empty path.

/** The hidden folder that deleted files are moved to until the undo period is over. */
export const TRASH = '.headwater-trash';

/** Returns the path in the one form that the app uses: `/workspace/src/a`, `/src/a` and `./src/a` are `src/a`. */
export function normalise(path: string): string {
  const parts: string[] = [];
  for (const part of path.replace(/^\/workspace(?=\/|$)/, '').split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return parts.join('/');
}

export function join(...parts: string[]): string {
  return parts.filter((part) => part !== '').join('/');
}

/** The folder that contains the path. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The suffix without the dot, as it is written: `C` and `c` are different languages. */
export function suffixOf(path: string): string {
  const name = nameOf(path);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? '' : name.slice(dot + 1);
}

/** The name without its suffix. */
export function stemOf(path: string): string {
  const name = nameOf(path);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? name : name.slice(0, dot);
}

/** Whether the path is the folder itself or below it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/** The folders above a path, outermost first: `a/b/c` has `a` and `a/b`. */
export function ancestorsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Where a path is after `from` was moved to `to`; unchanged if it is not within `from`. */
export function afterMove(path: string, from: string, to: string): string {
  if (path === from) return to;
  return from !== '' && path.startsWith(`${from}/`) ? to + path.slice(from.length) : path;
}

export type NameProblem = 'empty' | 'dots' | 'absolute' | 'null' | 'long' | 'taken';

/**
 * Checks what somebody typed as the name of a new or renamed file. Slashes are allowed: `src/a.py` creates the folder.
 * `taken` says whether the path exists.
 */
export function checkName(input: string, folder: string, taken: (path: string) => boolean): NameProblem | null {
  const name = input.trim();
  if (name === '') return 'empty';
  if (name.startsWith('/')) return 'absolute';
  if (name.includes('\0')) return 'null';
  const parts = name.replace(/\/$/, '').split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'dots';
  if (parts.some((part) => new TextEncoder().encode(part).length > 255)) return 'long';
  return taken(join(folder, parts.join('/'))) ? 'taken' : null;
}

/** The first of `name.ext`, `name 2.ext`, `name 3.ext`, ... that does not exist. */
export function freeName(path: string, taken: (path: string) => boolean): string {
  if (!taken(path)) return path;
  const folder = parentOf(path);
  const stem = stemOf(path);
  const suffix = suffixOf(path);
  for (let number = 2; ; number += 1) {
    const candidate = join(folder, `${stem} ${String(number)}${suffix === '' ? '' : `.${suffix}`}`);
    if (!taken(candidate)) return candidate;
  }
}

/** Whether `from` can be moved into the folder `to`: not into itself, and not to where it is. */
export function canMoveInto(from: string, to: string): boolean {
  return !isWithin(to, from) && parentOf(from) !== to;
}

/** Folders first, then by name as people order names: `a2` before `a10`. */
export function compareEntries(a: { name: string; type: string }, b: { name: string; type: string }): number {
  const folders = Number(b.type === 'folder') - Number(a.type === 'folder');
  return folders !== 0 ? folders : ORDER.compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
}

const ORDER = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
