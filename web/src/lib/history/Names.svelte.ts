// The names of the sessions that executions belong to. Executions know only the id.

import type { Headwater, Session } from 'headwater';
import { SvelteMap } from 'svelte/reactivity';
import { Limited } from '$lib/lists/limited';

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
}
