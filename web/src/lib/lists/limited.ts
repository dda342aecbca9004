// Runs asynchronous work with a bound on how much of it happens at once. Browsers open six connections to a server;
// lists must leave some of them to the rest of the page.

/** A queue of work. The newest is done first: it belongs to the rows that are visible now. */
export class Limited {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #atOnce: number;
  readonly #maxWaiting: number;

  constructor(atOnce: number, maxWaiting = 100) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs the work when there is room; rejects if it waited behind too much newer work. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn();
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.pop();
      // The place is handed over, so that work that comes in between cannot take it.
      if (next) next();
      else this.#running -= 1;
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const entry = (): void => resolve();
      this.#rejects.set(entry, () => reject(new DroppedError()));
      this.#waiting.push(entry);
      if (this.#waiting.length <= this.#maxWaiting) return;
      const oldest = this.#waiting.shift();
      if (oldest) this.#rejects.get(oldest)?.();
    });
  }

  readonly #rejects = new WeakMap<() => void, () => void>();
}

/** Work that was dropped because too much newer work came. */
export class DroppedError extends Error {
  override readonly name = 'DroppedError';
}
