// Actions that can be undone because they are sent late: after the toast with "Undo" has gone, or when the page goes.

/** Sends the action. `isLeaving`: the page is going away, and only a request that outlives it arrives. */
export type Send = (isLeaving: boolean) => void;

/** The actions that wait, by the id of what they change. */
export class Deferred {
  readonly #waiting = new Map<string, { send: Send; timer: ReturnType<typeof setTimeout> }>();

  /** Sends an action after `delayMs`, unless it is undone before. */
  schedule(id: string, delayMs: number, send: Send): void {
    this.undo(id);
    const timer = setTimeout(() => {
      this.#waiting.delete(id);
      send(false);
    }, delayMs);
    this.#waiting.set(id, { send, timer });
  }

  /** Forgets an action. Returns whether it was still waiting. */
  undo(id: string): boolean {
    const found = this.#waiting.get(id);
    if (!found) return false;
    clearTimeout(found.timer);
    return this.#waiting.delete(id);
  }

  has(id: string): boolean {
    return this.#waiting.has(id);
  }

  /** Sends everything now, because the page is going away. */
  flush(): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { send, timer } of all) {
      clearTimeout(timer);
      send(true);
    }
  }
}

/** The one list of the app. `pagehide` is the last event that every browser sends, also on phones. */
export const deferred = new Deferred();
if (typeof window !== 'undefined') window.addEventListener('pagehide', () => deferred.flush());
