// Which browser tabs have this session open. Each tab has an id that survives a reload; a duplicated tab, which starts
// with a copy of the id, gets a new one.

type Message =
  | { type: 'who'; from: string }
  | { type: 'here'; tab: string; instance: string; files: string[] }
  | { type: 'bye'; tab: string };

/** How long a tab has to answer. Tabs of one browser answer within a few milliseconds. */
const PATIENCE_MS = 120;

const random = (): string => Math.random().toString(36).slice(2, 12);

export class Presence {
  tab: string;
  readonly #instance = random();
  readonly #channel: BroadcastChannel | null;
  readonly #others = new Map<string, string[]>();
  /** Returns the files that this tab has open. */
  files: () => string[] = () => [];
  /** Called when another tab opens or closes files. */
  onchange: (files: ReadonlySet<string>) => void = () => undefined;

  constructor(session: string) {
    const name = `headwater:tab:${session}`;
    this.tab = readSession(name) ?? random();
    this.#channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(name);
    this.#channel?.addEventListener('message', (event: MessageEvent<Message>) => this.#receive(event.data));
    this.#remember = () => writeSession(name, this.tab);
    this.#remember();
  }

  readonly #remember: () => void;

  /** Asks all tabs of this session; returns the ids of those that live, this one not included. */
  async living(): Promise<Set<string>> {
    this.#others.clear();
    this.#channel?.postMessage({ type: 'who', from: this.#instance } satisfies Message);
    await new Promise((resolve) => setTimeout(resolve, this.#channel === null ? 0 : PATIENCE_MS));
    if (this.#others.has(this.tab)) {
      this.tab = random();
      this.#remember();
    }
    return new Set(this.#others.keys());
  }

  /** Tells the others which files this tab has open. */
  announce(): void {
    this.#channel?.postMessage(this.#here());
  }

  close(): void {
    this.#channel?.postMessage({ type: 'bye', tab: this.tab } satisfies Message);
    this.#channel?.close();
  }

  #here(): Message {
    return { type: 'here', tab: this.tab, instance: this.#instance, files: this.files() };
  }

  #receive(message: Message): void {
    if (message.type === 'who') this.announce();
    else if (message.type === 'here') this.#others.set(message.tab, message.files);
    else this.#others.delete(message.tab);
    this.onchange(new Set([...this.#others.values()].flat()));
  }
}

function readSession(name: string): string | null {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

function writeSession(name: string, value: string): void {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // Without storage the tab has a new id after a reload.
  }
}
