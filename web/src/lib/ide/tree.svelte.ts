// The file tree: folders are read when they are opened, and read again when something in them changed.
import type { FileChange, FileEntry } from 'headwater';
import { ApiError } from 'headwater';
import { SvelteMap, SvelteSet } from 'svelte/reactivity';
import type { Files, Listing } from './files';
import { flatten, type Naming, type Row } from './rows';
import { ancestorsOf, isWithin, parentOf } from './paths';

/** Changes that arrive within this time are read together. */
const GATHER_MS = 80;

export class FileTree {
  readonly listings = new SvelteMap<string, Listing>();
  readonly open = new SvelteSet<string>();
  /** A name that is being typed: for a new entry, or for an old one. */
  naming: Naming | null = $state.raw(null);
  selected: string | null = $state(null);
  error: unknown = $state.raw(null);
  isLoaded = $state(false);
  readonly rows: Row[] = $derived(flatten(this.listings, this.open, this.naming));
  readonly #stale = new Set<string>();
  /** How often each folder was asked for. */
  readonly #turns = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly files: Files) {}

  /** Whether the workspace has no files at all, as far as people see them. */
  get isEmpty(): boolean {
    return this.isLoaded && this.rows.length === 0;
  }

  entryOf(path: string): FileEntry | null {
    return this.listings.get(parentOf(path))?.entries.find((entry) => entry.path === path) ?? null;
  }

  has(path: string): boolean {
    return this.entryOf(path) !== null;
  }

  /** Reads a folder. A folder that does not exist any more is forgotten. */
  async load(folder: string): Promise<void> {
    const turn = (this.#turns.get(folder) ?? 0) + 1;
    this.#turns.set(folder, turn);
    try {
      const listing = await this.files.list(folder);
      // An answer that was overtaken by a newer one would show what was there before.
      if (this.#turns.get(folder) !== turn) return;
      this.listings.set(folder, listing);
      if (folder === '') {
        this.isLoaded = true;
        this.error = null;
      }
    } catch (error) {
      if (folder === '') this.error = error;
      else if (error instanceof ApiError && (error.status === 404 || error.status === 409)) this.#forget(folder);
    }
  }

  async toggle(folder: string): Promise<void> {
    if (this.open.has(folder)) this.open.delete(folder);
    else await this.expand(folder);
  }

  async expand(folder: string): Promise<void> {
    if (folder === '') return;
    this.open.add(folder);
    if (!this.listings.has(folder)) await this.load(folder);
  }

  /** Opens all folders above a path and selects it. */
  async reveal(path: string): Promise<void> {
    for (const folder of ancestorsOf(path)) await this.expand(folder);
    this.selected = path;
  }

  collapseAll(): void {
    this.open.clear();
  }

  /** Reads everything that is shown again. */
  async reload(): Promise<void> {
    for (const folder of [...this.listings.keys()]) {
      if (folder !== '' && !this.open.has(folder)) this.listings.delete(folder);
    }
    await Promise.all([...this.listings.keys()].map((folder) => this.load(folder)));
  }

  /** Takes a change that the server reported. */
  changed(change: FileChange): void {
    if (change.type === 'modified') return;
    this.touch(parentOf(change.path));
    if (change.from !== null && change.from !== undefined) this.touch(parentOf(change.from));
    if (change.type !== 'created' && change.kind === 'folder') this.#forget(change.from ?? change.path);
  }

  /** Says that a folder may have other entries now. */
  touch(folder: string): void {
    // Only the nearest folder that is shown has to be read: the others are read when they are opened.
    let shown = folder;
    while (shown !== '' && !this.listings.has(shown)) shown = parentOf(shown);
    this.#stale.add(shown);
    if (this.#timer === undefined) this.#timer = setTimeout(() => void this.#readStale(), GATHER_MS);
  }

  async #readStale(): Promise<void> {
    const folders = [...this.#stale];
    this.#stale.clear();
    await Promise.all(folders.map((folder) => this.load(folder)));
    this.#timer = undefined;
    if (this.#stale.size > 0) this.#timer = setTimeout(() => void this.#readStale(), GATHER_MS);
  }

  #forget(folder: string): void {
    for (const path of [...this.listings.keys()]) if (path !== '' && isWithin(path, folder)) this.listings.delete(path);
    for (const path of [...this.open]) if (isWithin(path, folder)) this.open.delete(path);
  }

  /** Keeps folders open that were moved. */
  moved(from: string, to: string): void {
    const wasOpen = [...this.open].filter((path) => isWithin(path, from));
    const old = this.listings.get(parentOf(from));
    // It is gone there; until the folder is read again it would be shown in both places.
    if (old) {
      const entries = old.entries.filter(({ path }) => path !== from);
      this.listings.set(parentOf(from), { ...old, entries });
    }
    this.#forget(from);
    for (const path of wasOpen) void this.expand(to + path.slice(from.length));
    if (this.selected !== null && isWithin(this.selected, from)) this.selected = to + this.selected.slice(from.length);
    this.touch(parentOf(from));
    this.touch(parentOf(to));
  }
}
