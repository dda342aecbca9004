// The list behind the history: what the server filters, what is filtered here, and how far older pages are searched.

import type { Execution, Headwater } from 'headwater';
import { gone } from '$lib/lists/gone.svelte';
import { Paged, type PageOf } from '$lib/lists/Paged.svelte';
import { isSearchedHere, matches, serverQuery, type Filters } from './filters';
import type { SessionNames } from './Names.svelte';

const PAGE = 100;
/** Pages are larger while they are searched here. */
const SEARCH_PAGE = 500;
/** Searching stops after this many executions, until the user asks for more. */
const SEARCH_STEP = 5000;
/** It also stops when a screen is full. */
const ENOUGH = 60;
/** Executions that run are looked at again, even if they are far down the list. */
const MAX_RUNNING = 20;

export class HistoryList {
  readonly paged: Paged<Execution>;
  filters = $state.raw<Filters>() as Filters;
  #bound = $state(SEARCH_STEP);
  readonly #client: Headwater;
  readonly #names: SessionNames;

  constructor(client: Headwater, names: SessionNames, filters: Filters) {
    this.#client = client;
    this.#names = names;
    this.filters = filters;
    this.paged = new Paged<Execution>((cursor, signal) => this.#load(cursor, signal));
  }

  readonly isSearch = $derived.by(() => isSearchedHere(this.filters));
  readonly shown: readonly Execution[] = $derived.by(() =>
    this.paged.items.filter(
      (one) => !gone.has(one.id) && matches(one, this.filters, (id) => this.#names.get(id)?.owner),
    ),
  );
  /** Whether the search waits for the user's word to go on. */
  readonly isPaused = $derived.by(() => this.isSearch && this.paged.hasMore && this.paged.items.length >= this.#bound);

  async #load(cursor: string | undefined, signal: AbortSignal): Promise<PageOf<Execution>> {
    const { filters } = this;
    if (filters.owner && cursor === undefined) await this.#names.loadOwner(filters.owner, signal);
    return this.#client.executions.list(
      {
        ...serverQuery(filters, Date.now()),
        limit: isSearchedHere(filters) ? SEARCH_PAGE : PAGE,
        ...(cursor ? { cursor } : {}),
      },
      { signal },
    );
  }

  start(filters: Filters): void {
    this.filters = filters;
    this.#bound = SEARCH_STEP;
    this.paged.clear();
    void this.paged.start();
  }

  /** Called when the end of the list comes near. */
  more(): void {
    if (!this.isPaused && !this.paged.error) void this.paged.more();
  }

  /** Searches further while the screen is not full. */
  fill(): void {
    if (this.isSearch && this.shown.length < ENOUGH) this.more();
  }

  searchOn(): void {
    this.#bound = this.paged.items.length + SEARCH_STEP;
    void this.paged.more();
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
