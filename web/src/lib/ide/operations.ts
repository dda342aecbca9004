// What people do with files and folders in the tree. Each operation shows its own errors; most can be undone.
import { strings } from '../strings/en';
import { toast, undoToast } from '../ui';
import type { Ide } from './ide.svelte';
import { isWithin, join, nameOf, parentOf } from './paths';
import * as tabs from './tabs';

const words = strings.ide;

export class Operations {
  constructor(private readonly ide: Ide) {}

  async createFile(path: string, text = ''): Promise<boolean> {
    const { ide } = this;
    return this.#attempt(async () => {
      await ide.files.write(path, new TextEncoder().encode(text), null);
      ide.tree.touch(parentOf(path));
      ide.open(path);
    });
  }

  async createFolder(path: string): Promise<boolean> {
    const { ide } = this;
    return this.#attempt(async () => {
      await ide.files.mkdir(path);
      ide.tree.touch(parentOf(path));
      await ide.tree.expand(path);
      await ide.tree.reveal(path);
    });
  }

  async rename(from: string, to: string): Promise<boolean> {
    const { ide } = this;
    return this.#attempt(async () => {
      await ide.files.move(from, to);
      // The tabs follow a move before the documents do; nothing is closed in between.
      ide.tabs = tabs.renameTabs(ide.tabs, from, to);
      await ide.documents.rename(from, to);
      ide.setTabs(ide.tabs);
      ide.tree.moved(from, to);
    });
  }

  async moveInto(from: string, folder: string): Promise<void> {
    const { ide } = this;
    const to = join(folder, nameOf(from));
    if (!(await this.rename(from, to))) return;
    await ide.tree.expand(folder);
    await ide.tree.reveal(to);
    undoToast(words.moved(nameOf(from), folder), async () => void (await this.rename(to, from)));
  }

  async duplicate(from: string, to: string): Promise<void> {
    const { ide } = this;
    await this.#attempt(async () => {
      await ide.files.copy(from, to);
      ide.tree.touch(parentOf(to));
      await ide.tree.reveal(to);
    });
  }

  /** Deletes by moving to the trash, which is emptied when the undo period is over. */
  async remove(path: string): Promise<void> {
    const { ide } = this;
    await this.#attempt(async () => {
      const open = tabs.openFiles(ide.tabs).filter((file) => isWithin(file, path));
      const trashed = await ide.files.trash(path);
      const unsaved = open.map((file) => ({ file, text: ide.documents.close(file) }));
      ide.setTabs(tabs.closeWithin(ide.tabs, path));
      ide.tree.touch(parentOf(path));
      let isUndone = false;
      const forGood = setTimeout(() => {
        if (!isUndone) void ide.files.discard(trashed);
      }, 10_000);
      undoToast(words.deleted(nameOf(path)), async () => {
        isUndone = true;
        clearTimeout(forGood);
        await ide.files.move(trashed, path);
        void ide.files.discard(trashed);
        ide.tree.touch(parentOf(path));
        for (const { file, text } of unsaved) {
          ide.open(file);
          if (text !== null) ide.insert(file, text);
        }
      });
    });
  }

  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      toast.error(error);
      return false;
    }
  }
}
