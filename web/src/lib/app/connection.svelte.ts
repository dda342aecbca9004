// Whether the server answers: live, reconnecting (with a countdown) or offline. One for the whole app.

export type ConnectionKind = 'live' | 'reconnecting' | 'offline';

const FIRST_MS = 1000;
const LONGEST_MS = 15_000;

/** How long to wait before the attempt of this number, with jitter so that many tabs do not come at once. */
export function waitMs(attempt: number, random: () => number = Math.random): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** attempt) * (0.75 + random() / 2);
}

class Connection {
  kind = $state<ConnectionKind>('live');
  /** When the next attempt begins, in milliseconds. */
  retryAt = $state(0);
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<() => void>();

  /** A request did not reach the server. */
  failed(): void {
    if (!navigator.onLine) {
      this.#goOffline();
      return;
    }
    if (this.kind === 'reconnecting') return;
    this.kind = 'reconnecting';
    this.#schedule();
  }

  /** A request was answered, with whatever status. */
  succeeded(): void {
    if (this.kind === 'live') return;
    clearTimeout(this.#timer);
    this.#attempt = 0;
    this.kind = 'live';
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` each time the server answers again. Returns a function that removes it. */
  onRestored(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tries at once. */
  retry(): void {
    clearTimeout(this.#timer);
    void this.#probe();
  }

  start(): () => void {
    const offline = (): void => this.#goOffline();
    const online = (): void => this.retry();
    addEventListener('offline', offline);
    addEventListener('online', online);
    return () => {
      removeEventListener('offline', offline);
      removeEventListener('online', online);
      clearTimeout(this.#timer);
    };
  }

  #goOffline(): void {
    clearTimeout(this.#timer);
    this.kind = 'offline';
  }

  #schedule(): void {
    const wait = waitMs(this.#attempt);
    this.#attempt += 1;
    this.retryAt = Date.now() + wait;
    this.#timer = setTimeout(() => void this.#probe(), wait);
  }

  async #probe(): Promise<void> {
    this.retryAt = 0;
    try {
      await fetch('/readyz', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
    } catch {
      if (!navigator.onLine) return this.#goOffline();
      this.kind = 'reconnecting';
      this.#schedule();
      return;
    }
    this.succeeded();
  }
}

export const connection = new Connection();
