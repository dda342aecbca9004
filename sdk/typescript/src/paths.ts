// Paths of a workspace. `src/a`, `/src/a` and `/workspace/src/a` are the same file; the API answers with the first form.

/** The path of the workspace inside a session. */
export const WORKSPACE = '/workspace';

/** The names of a path; none for the workspace itself. `..` is a name like any other, and the server refuses it. */
export function pathNames(path: string): string[] {
  const within = path === WORKSPACE || path.startsWith(`${WORKSPACE}/`) ? path.slice(WORKSPACE.length) : path;
  return within.split('/').filter((name) => name !== '' && name !== '.');
}

/** The path as the API writes it: relative to the workspace, which itself is ''. */
export function relativePath(path: string): string {
  return pathNames(path).join('/');
}

/** The path as programs of the session see it. */
export function absolutePath(path: string): string {
  return [WORKSPACE, ...pathNames(path)].join('/');
}

/** Joins a folder and a path below it. */
export function joinPath(folder: string, path: string): string {
  return [...pathNames(folder), ...path.split('/').filter((name) => name !== '' && name !== '.')].join('/');
}

/** The folder of a path; '' for names in the workspace itself. */
export function parentPath(path: string): string {
  return pathNames(path).slice(0, -1).join('/');
}

/** The last name of a path; '' for the workspace itself. */
export function baseName(path: string): string {
  return pathNames(path).at(-1) ?? '';
}

/** The part of the name from its last dot on (`.py`), or '' without one. A dot at the beginning does not count. */
export function suffix(path: string): string {
  const name = baseName(path);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot) : '';
}
