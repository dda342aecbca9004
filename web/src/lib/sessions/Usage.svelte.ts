// What the visible sessions use: measured every few seconds, only for rows that are on the screen.

import type { Headwater, RunningUsage, Session, SessionUsage } from 'headwater';
import { SvelteMap } from 'svelte/reactivity';
import { Limited } from '$lib/lists/limited';

/** The use of a session. `null` means that it is not known, or not counted. */
export interface Used {
  readonly memory: number | null;
  readonly memoryLimit: number | null;
  readonly disk: number | null;
  readonly diskLimit: number | null;
  readonly cpuMs: number | null;
  /** Processors in use between the last two measurements. */
  readonly cpus: number | null;
}

/** The most sessions that the server measures in one request. */
const AT_ONCE = 100;

export class VisibleUsage {
  readonly #used = new SvelteMap<string, Used>();
  readonly #visible = new Map<string, { session: Session; count: number }>();
  readonly #measuredAt = new Map<string, number>();
  readonly #queue = new Limited(2);
  readonly #client: Headwater;

  constructor(client: Headwater) {
    this.#client = client;
  }

  of(id: string): Used | undefined {
    return this.#used.get(id);
  }

  /** Measures a session as long as its row is shown. Returns a function for when it is not. */
  show(session: Session): () => void {
    const known = this.#visible.get(session.id);
    this.#visible.set(session.id, { session, count: (known?.count ?? 0) + 1 });
    if (session.state !== 'ended' && !this.#measuredAt.has(session.id)) this.#first(session.id);
    return () => {
      const now = this.#visible.get(session.id);
      if (now && now.count > 1) this.#visible.set(session.id, { ...now, count: now.count - 1 });
      else this.#visible.delete(session.id);
    };
  }

  /** The first measurement has the limits as they are enforced, with the server's defaults. */
  #first(id: string): void {
    this.#measuredAt.set(id, 0);
    this.#queue
      .run(async () => {
        if (!this.#visible.has(id)) throw new Error('gone');
        return this.#client.sessions.usage(id);
      })
      .then(
        (usage) => this.#used.set(id, fromFirst(usage, this.#used.get(id))),
        () => this.#measuredAt.delete(id),
      );
  }

  /** Measures all visible sessions that run. */
  async measure(signal: AbortSignal): Promise<void> {
    const ids = [...this.#visible.values()]
      .filter(({ session }) => session.state === 'ready')
      .map(({ session }) => session.id)
      .slice(0, AT_ONCE);
    if (ids.length === 0) return;
    const { items } = await this.#client.usage.sessions({ sessions: ids.join(',') }, { signal });
    const now = performance.now();
    for (const item of items) {
      const before = this.#used.get(item.session_id);
      const elapsed = now - (this.#measuredAt.get(item.session_id) || Infinity);
      this.#used.set(item.session_id, fromMeasurement(item, before, elapsed));
      this.#measuredAt.set(item.session_id, now);
    }
  }
}

function fromFirst(usage: SessionUsage, known: Used | undefined): Used {
  return {
    memory: usage.used.memory_bytes ?? null,
    memoryLimit: usage.limits.memory_bytes ?? null,
    disk: usage.used.disk_bytes ?? null,
    diskLimit: usage.limits.disk_bytes ?? null,
    cpuMs: usage.used.cpu_ms ?? null,
    cpus: known?.cpus ?? null,
  };
}

/** The next measurement. The CPU time of a session begins again at 0 when it is resumed. */
export function fromMeasurement(item: RunningUsage, before: Used | undefined, elapsedMs: number): Used {
  const earlier = before?.cpuMs ?? null;
  const used = earlier === null ? -1 : item.cpu_ms - earlier;
  return {
    memory: item.memory_bytes,
    memoryLimit: before?.memoryLimit ?? null,
    disk: item.disk_bytes,
    diskLimit: before?.diskLimit ?? null,
    cpuMs: item.cpu_ms,
    cpus: used >= 0 && elapsedMs > 0 && Number.isFinite(elapsedMs) ? used / elapsedMs : null,
  };
}
