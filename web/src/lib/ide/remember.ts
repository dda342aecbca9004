// What the browser remembers for a session: tabs, layout, options. A browser that forbids storage forgets.

const PREFIX = 'headwater:ide:';

/** Storage of one session. Values are JSON. */
export class Memory {
  constructor(private readonly session: string) {}

  read(name: string): unknown {
    try {
      const text = localStorage.getItem(PREFIX + this.session + ':' + name);
      return text === null ? null : (JSON.parse(text) as unknown);
    } catch {
      return null;
    }
  }

  write(name: string, value: unknown): void {
    try {
      localStorage.setItem(PREFIX + this.session + ':' + name, JSON.stringify(value));
    } catch {
      // Without storage, or with a full one, the layout starts from its defaults next time.
    }
  }

  /** What paneforge wants: strings under names of its own. */
  get panes(): { getItem: (name: string) => string | null; setItem: (name: string, value: string) => void } {
    return {
      getItem: (name) => {
        const value = this.read(name);
        return typeof value === 'string' ? value : null;
      },
      setItem: (name, value) => this.write(name, value),
    };
  }
}
