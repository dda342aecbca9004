// When something last happened in a session: the newest start or end of an execution, looked up for visible rows.

import type { Execution, Headwater, Session } from 'headwater';
import { SvelteMap } from 'svelte/reactivity';
import { DroppedError, Limited } from '$lib/lists/limited';

/** The time of the newest start or end, in milliseconds. */
function lastOf(execution: Execution): number {
  return Date.parse(execution.exited_at ?? execution.started_at);
}

export class LastActivity {
  readonly #at = new SvelteMap<string, number>();
  readonly #asked = new Set<string>();
  readonly #queue = new Limited(1);
  readonly #client: Headwater;
  #recent: Promise<void> | null = null;

  constructor(client: Headwater) {
    this.#client = client;
  }

  /** The time of the last activity. A session without executions was active when it was created. */
  of(session: Session): number {
    return Math.max(this.#at.get(session.id) ?? 0, Date.parse(session.ended_at ?? session.created_at));
  }

  /** The newest executions of all sessions in one request: most visible sessions are among them. */
  refresh(): Promise<void> {
    this.#recent = this.#client.executions.list({ limit: 200 }).then(
      ({ items }) => items.forEach((execution) => this.#put(execution)),
      () => undefined,
    );
    return this.#recent;
  }

  /** Looks one session up, once, if it is not among the newest. */
  async look(session: Session): Promise<void> {
    const { id } = session;
    if (session.one_shot || this.#asked.has(id)) return;
    this.#asked.add(id);
    await (this.#recent ?? this.refresh());
    if (this.#at.has(id)) return;
    await this.#queue
      .run(() => this.#client.executions.list({ session_id: id, limit: 1 }))
      .then(
        ({ items }) => items.forEach((execution) => this.#put(execution)),
        // A session that is gone stays without; only work that never began is tried again.
        (error: unknown) => void (error instanceof DroppedError && this.#asked.delete(id)),
      );
  }

  #put(execution: Execution): void {
    const at = lastOf(execution);
    if (at > (this.#at.get(execution.session_id) ?? 0)) this.#at.set(execution.session_id, at);
  }
}
