// A queue between callbacks and `for await`.

/** Items that callbacks push and one reader takes. */
export class Queue<T> {
  readonly #items: T[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #error: unknown;

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** Nothing follows. With an error, the reader gets it after the last item. */
  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  /** The next item; undefined after the last one. */
  async next(): Promise<T | undefined> {
    while (this.#items.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return this.#items.shift();
  }
}
