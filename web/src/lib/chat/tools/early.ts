// Executions that are followed before their card is there. The log names an execution some frames before its card is
// made; its first output may have come by then.

/** How long a card has to take one. */
const WAIT_MS = 2000;
/** A browser keeps six connections to a server. The log and the cards that are there need the others. */
const AT_ONCE = 2;

/** An execution, and what to call when its card has opened it. */
export interface Taken<Item> {
  item: Item;
  release: () => void;
}

export class Early<Item extends { open: () => () => void }> {
  readonly #open = new Map<string, Taken<Item>>();

  constructor(private readonly make: (id: string) => Item) {}

  /** Begins to follow, unless enough are followed already. Without a card it ends again. */
  begin(id: string): void {
    if (this.#open.has(id) || this.#open.size >= AT_ONCE) return;
    const item = this.make(id);
    const close = item.open();
    const end = setTimeout(() => {
      this.#open.delete(id);
      close();
    }, WAIT_MS);
    const release = (): void => {
      clearTimeout(end);
      close();
    };
    this.#open.set(id, { item, release });
  }

  /** The execution for a card, followed already or not. */
  take(id: string): Taken<Item> {
    const taken = this.#open.get(id);
    this.#open.delete(id);
    return taken ?? { item: this.make(id), release: () => undefined };
  }
}
