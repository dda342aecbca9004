// The names and owners of the sessions that executions belong to. Executions know only the id.

import type { Headwater, Session } from 'headwater';
import { SvelteMap } from 'svelte/reactivity';
import { Limited } from '$lib/lists/limited';

/** The most pages of sessions that are read to find those of an owner. */
const MAX_PAGES = 20;

export class SessionNames {
  readonly #known = new SvelteMap<string, Session>();
  readonly #asked = new Set<string>();
  readonly #queue = new Limited(2);
  readonly #client: Headwater;
  #recent: Promise<void> | null = null;

  constructor(client: Headwater) {
    this.#client = client;
  }

  get(id: string): Session | undefined {
    return this.#known.get(id);
  }

  /** Looks a session up, once. Most are among the newest, which come in one request. */
  async look(id: string): Promise<void> {
    if (this.#known.has(id) || this.#asked.has(id)) return;
    this.#asked.add(id);
    await (this.#recent ??= this.#loadRecent());
    if (this.#known.has(id)) return;
    await this.#queue
      .run(() => this.#client.sessions.get(id))
      .then(
        (session) => this.#known.set(id, session),
        () => undefined,
      );
  }

  async #loadRecent(): Promise<void> {
    await this.#client.sessions.list({ limit: 500 }).then(
      ({ items }) => items.forEach((session) => this.#known.set(session.id, session)),
      () => undefined,
    );
  }

  /** Reads all sessions of an owner, so that its executions can be told from others. */
  async loadOwner(owner: string, signal: AbortSignal): Promise<void> {
    let cursor: string | null | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const found = await this.#client.sessions.list({ owner, limit: 1000, ...(cursor ? { cursor } : {}) }, { signal });
      found.items.forEach((session) => this.#known.set(session.id, session));
      cursor = found.next_cursor;
      if (!cursor) return;
    }
  }
}
