// The tree as a list of rows, which is what a virtual list draws. Pure.
import type { FileEntry } from 'headwater';
import type { Listing } from './files';
import { compareEntries, nameOf, parentOf, TRASH } from './paths';

/** A name that is being typed. `path` is the folder of a new entry, or the entry to rename. */
export type Naming = { kind: 'file' | 'folder'; path: string } | { kind: 'rename'; path: string };

export type Row =
  | { kind: 'entry'; key: string; path: string; depth: number; entry: FileEntry; isOpen: boolean; isRenaming: boolean }
  | { kind: 'naming'; key: string; path: string; depth: number; isFolder: boolean }
  | { kind: 'note'; key: string; path: string; depth: number; isEmpty: boolean };

/** The rows of the tree, from the top. The trash and the insides of git are not shown. */
export function flatten(
  listings: ReadonlyMap<string, Listing>,
  open: ReadonlySet<string>,
  naming: Naming | null,
): Row[] {
  const rows: Row[] = [];
  const visit = (folder: string, depth: number): void => {
    if (naming !== null && naming.kind !== 'rename' && naming.path === folder) {
      rows.push({ kind: 'naming', key: ':naming', path: folder, depth, isFolder: naming.kind === 'folder' });
    }
    const listing = listings.get(folder);
    if (listing === undefined) return;
    const before = rows.length;
    for (const entry of listing.entries.filter(({ path }) => path !== TRASH && path !== '.git').sort(compareEntries)) {
      const isOpen = entry.type === 'folder' && open.has(entry.path);
      const isRenaming = naming?.kind === 'rename' && naming.path === entry.path;
      rows.push({ kind: 'entry', key: entry.path, path: entry.path, depth, entry, isOpen, isRenaming });
      if (isOpen) visit(entry.path, depth + 1);
    }
    if (folder !== '' && rows.length === before) {
      rows.push({ kind: 'note', key: `${folder}/:empty`, path: folder, depth, isEmpty: true });
    }
    if (listing.isTruncated) rows.push({ kind: 'note', key: `${folder}/:more`, path: folder, depth, isEmpty: false });
  };
  visit('', 0);
  return rows;
}

/** The folder that a new file goes to when a row is selected: itself if it is a folder, else the one around it. */
export function folderFor(selected: string | null, isFolder: boolean): string {
  if (selected === null) return '';
  return isFolder ? selected : parentOf(selected);
}

/** Moves the selection among the rows that can be selected. */
export function step(rows: readonly Row[], selected: string | null, by: number): string | null {
  const entries = rows.filter((row) => row.kind === 'entry');
  const at = entries.findIndex((row) => row.path === selected);
  const next = at < 0 ? (by > 0 ? 0 : entries.length - 1) : Math.max(0, Math.min(entries.length - 1, at + by));
  return entries[next]?.path ?? selected;
}

/** The next entry whose name begins with the letters. */
export function typeAhead(rows: readonly Row[], selected: string | null, letters: string): string | null {
  const entries = rows.filter((row) => row.kind === 'entry');
  const at = entries.findIndex((row) => row.path === selected);
  const from = letters.length > 1 ? at : at + 1;
  const ordered = [...entries.slice(from < 0 ? 0 : from), ...entries.slice(0, Math.max(0, from))];
  return ordered.find((row) => nameOf(row.path).toLowerCase().startsWith(letters.toLowerCase()))?.path ?? null;
}
