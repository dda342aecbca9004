// The list behind the history: the server filters and searches, and this asks on while a search has found little.

import type { Execution, Headwater } from 'headwater';
import { gone } from '$lib/lists/gone.svelte';
import { Paged } from '$lib/lists/Paged.svelte';
import { isFiltered, isSearch, serverQuery, type Filters } from './filters';

const PAGE = 100;
/** A search goes on by itself until a screen is full. */
const ENOUGH = 60;
/** It stops after this many pages, each of some thousand executions, until the user asks for more. */
const SEARCH_PAGES = 20;
/** Executions that run are looked at again, even if they are far down the list. */
const MAX_RUNNING = 20;

export class HistoryList {
  readonly paged: Paged<Execution>;
  #filters = $state.raw<Filters>() as Filters;
  #pagesLeft = $state(SEARCH_PAGES);
  readonly #client: Headwater;

  constructor(client: Headwater, filters: Filters) {
    this.#client = client;
    this.#filters = filters;
    this.paged = new Paged<Execution>((cursor, signal) =>
      this.#client.executions.list(
        { ...serverQuery(this.#filters, Date.now()), limit: PAGE, ...(cursor ? { cursor } : {}) },
        { signal },
      ),
    );
  }

  readonly isSearch = $derived.by(() => isSearch(this.#filters));
  readonly shown: readonly Execution[] = $derived.by(() => this.paged.items.filter((one) => !gone.has(one.id)));
  /** Whether the search waits for the user's word to go on. */
  readonly isPaused = $derived.by(() => this.isSearch && this.paged.hasMore && this.#pagesLeft <= 0);

  start(filters: Filters): void {
    // While somebody types, the rows stay until others have come.
    const isOther = JSON.stringify({ ...filters, q: '' }) !== JSON.stringify({ ...this.#filters, q: '' });
    this.#filters = filters;
    this.#pagesLeft = SEARCH_PAGES;
    if (isOther) this.paged.clear();
    void this.paged.start();
  }

  /** Called when the end of the list comes near. */
  more(): void {
    if (this.isPaused || this.paged.error || this.paged.isLoading || !this.paged.hasMore) return;
    this.#pagesLeft -= 1;
    void this.paged.more();
  }

  /** Searches further while the screen is not full. */
  fill(): void {
    if (this.isSearch && this.shown.length < ENOUGH) this.more();
  }

  searchOn(): void {
    this.#pagesLeft = SEARCH_PAGES;
    this.more();
  }

  /** Shows an execution that has just been started, unless only the server knows whether it belongs here. */
  async add(started: Execution): Promise<void> {
    if (isFiltered(this.#filters)) await this.paged.refreshHead();
    else this.paged.put(started);
  }

  /** Takes over what is new, and how those that ran are doing. */
  async refresh(): Promise<void> {
    const before = new Map(this.paged.items.map((one) => [one.id, one]));
    await this.paged.refreshHead();
    const unsettled = this.paged.items.filter((one) => one.state !== 'closed' && before.get(one.id) === one);
    await Promise.all(
      unsettled.slice(0, MAX_RUNNING).map((one) =>
        this.#client.executions.get(one.id).then(
          (current) => this.paged.put(current),
          () => undefined,
        ),
      ),
    );
  }
}
