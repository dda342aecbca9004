// A list that the server returns in pages, newest first: first load, further pages, and news at its head.

/** A page as the server returns it. */
export interface PageOf<T> {
  readonly items: readonly T[];
  readonly next_cursor?: string | null | undefined;
}

export type LoadPage<T> = (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>;

export class Paged<T extends { readonly id: string }> {
  /** What has been loaded, newest first. */
  items = $state.raw<readonly T[]>([]);
  /** Whether the first page is being loaded, and nothing can be shown yet. */
  isFirst = $state(true);
  isLoading = $state(false);
  error = $state.raw<unknown>(null);
  hasMore = $state(false);

  #cursor: string | undefined;
  #load: LoadPage<T>;
  #current = new AbortController();

  constructor(load: LoadPage<T>) {
    this.#load = load;
  }

  /** Begins again, with another way to load if one is given. What is shown stays until the first page has come. */
  async start(load: LoadPage<T> = this.#load): Promise<void> {
    this.#current.abort();
    this.#current = new AbortController();
    this.#load = load;
    this.#cursor = undefined;
    this.isLoading = false;
    await this.#next(true);
  }

  /** Forgets what is shown, so that skeletons appear instead of rows of another list. */
  clear(): void {
    this.items = [];
    this.isFirst = true;
    this.hasMore = false;
  }

  /** Loads the next page, if there is one and none is being loaded. */
  async more(): Promise<void> {
    if (this.hasMore && !this.isLoading) await this.#next(false);
  }

  stop(): void {
    this.#current.abort();
  }

  async #next(isStart: boolean): Promise<void> {
    const { signal } = this.#current;
    this.isLoading = true;
    this.error = null;
    try {
      const page = await this.#load(this.#cursor, signal);
      if (signal.aborted) return;
      this.items = isStart ? page.items : joined(this.items, page.items);
      this.#cursor = page.next_cursor ?? undefined;
      this.hasMore = this.#cursor !== undefined;
      this.isFirst = false;
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
      if (isStart) this.isFirst = this.items.length === 0;
    } finally {
      if (!signal.aborted) this.isLoading = false;
    }
  }

  /** Loads the first page again and takes over what is new or has changed, without touching the rest. */
  async refreshHead(): Promise<void> {
    if (this.isFirst || this.isLoading) return;
    const { signal } = this.#current;
    const page = await this.#load(undefined, signal);
    if (signal.aborted || this.isLoading) return;
    this.error = null;
    this.items = merged(this.items, page.items, !page.next_cursor);
  }

  /** Replaces one item, or adds it at the head. */
  put(item: T): void {
    const at = this.items.findIndex((known) => known.id === item.id);
    this.items = at < 0 ? [item, ...this.items] : this.items.with(at, item);
  }

  remove(id: string): void {
    this.items = this.items.filter((item) => item.id !== id);
  }
}

function joined<T extends { readonly id: string }>(known: readonly T[], more: readonly T[]): readonly T[] {
  const ids = new Set(known.map((item) => item.id));
  return [...known, ...more.filter((item) => !ids.has(item.id))];
}

/**
 * The known items with the head of the list as it is now. Items that were between those of the head and are gone from it
 * were removed. If the head is the whole list, everything else is gone too.
 */
export function merged<T extends { readonly id: string }>(
  known: readonly T[],
  head: readonly T[],
  isAll: boolean,
): readonly T[] {
  if (isAll) return head;
  const ids = new Set(head.map((item) => item.id));
  const last = head[head.length - 1];
  const end = last ? known.findIndex((item) => item.id === last.id) : -1;
  const tail = known.slice(end + 1).filter((item) => !ids.has(item.id));
  return end < 0 ? [...head, ...known.filter((item) => !ids.has(item.id))] : [...head, ...tail];
}
