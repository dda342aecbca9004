// What can be done with an entry of the tree: the items of its menu.
import ClipboardCopy from '@lucide/svelte/icons/clipboard-copy';
import Columns2 from '@lucide/svelte/icons/columns-2';
import Copy from '@lucide/svelte/icons/copy';
import Download from '@lucide/svelte/icons/download';
import FilePlus from '@lucide/svelte/icons/file-plus';
import FolderPlus from '@lucide/svelte/icons/folder-plus';
import Pencil from '@lucide/svelte/icons/pencil';
import Trash2 from '@lucide/svelte/icons/trash-2';
import { strings } from '../strings/en';
import { copyText, download, toast, type MenuItem } from '../ui';
import type { Ide } from './ide.svelte';
import { freeName } from './paths';
import { folderFor } from './rows';

/** The menu of an entry; of the workspace itself if `path` is null. */
export function entryMenu(ide: Ide, path: string | null): MenuItem[] {
  const words = strings.ide;
  const entry = path === null ? null : ide.tree.entryOf(path);
  const isFolder = entry === null || entry.type === 'folder';
  const folder = folderFor(path, isFolder);
  const create = (kind: 'file' | 'folder'): void => {
    void ide.tree.expand(folder);
    ide.tree.naming = { kind, path: folder };
  };
  const items: MenuItem[] = [];
  if (ide.canWrite) {
    items.push({ label: words.newFile, icon: FilePlus, takesFocus: true, onselect: () => create('file') });
    items.push(
      { label: words.newFolder, icon: FolderPlus, takesFocus: true, onselect: () => create('folder') },
      'separator',
    );
  }
  if (path !== null && !isFolder) {
    items.push({ label: words.openSide, icon: Columns2, onselect: () => ide.openToSide(path) });
  }
  if (isFolder) {
    const url = ide.files.archiveUrl(path ?? '');
    items.push({ label: words.downloadZip, icon: Download, onselect: () => download(url) });
  } else if (path !== null && entry.type === 'file') {
    items.push({ label: words.download, icon: Download, onselect: () => download(ide.files.contentUrl(path)) });
  }
  if (path === null) return items;
  const copyPath = async (): Promise<void> => {
    await copyText(`/workspace/${path}`);
    toast.success(words.copiedPath);
  };
  items.push({ label: words.copyPath, icon: ClipboardCopy, onselect: () => void copyPath().catch(toast.error) });
  if (!ide.canWrite) return items;
  const copy = (): void =>
    void ide.operations.duplicate(
      path,
      freeName(path, (other) => ide.tree.has(other)),
    );
  items.push('separator', { label: words.duplicate, icon: Copy, onselect: copy });
  const rename = (): void => {
    ide.tree.naming = { kind: 'rename', path };
  };
  items.push({ label: words.rename, icon: Pencil, keys: 'F2', takesFocus: true, onselect: rename });
  items.push({
    label: words.remove,
    icon: Trash2,
    keys: 'Del',
    danger: true,
    onselect: () => void ide.operations.remove(path),
  });
  return items;
}
