// JSON that is still being written: what is there so far.

/** The longest text that is looked at: a card shows the beginning of longer arguments. */
const MAX = 200_000;

class Reader {
  #at = 0;

  constructor(private readonly text: string) {}

  value(depth = 0): unknown {
    this.#space();
    const ch = this.text[this.#at];
    if (ch === undefined || depth > 32) return undefined;
    if (ch === '{') return this.#object(depth);
    if (ch === '[') return this.#array(depth);
    if (ch === '"') return this.#string();
    return this.#word();
  }

  #space(): void {
    while (/\s/.test(this.text[this.#at] ?? 'x')) this.#at += 1;
  }

  #object(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    this.#at += 1;
    for (;;) {
      this.#space();
      if (this.text[this.#at] !== '"') break;
      const name = this.#string();
      this.#space();
      if (this.text[this.#at] !== ':') break;
      this.#at += 1;
      const value = this.value(depth + 1);
      if (value !== undefined) entries.push([name, value]);
      this.#space();
      if (this.text[this.#at] !== ',') break;
      this.#at += 1;
    }
    if (this.text[this.#at] === '}') this.#at += 1;
    return Object.fromEntries(entries);
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#at += 1;
    for (;;) {
      this.#space();
      const before = this.#at;
      const item = this.text[this.#at] === ']' ? undefined : this.value(depth + 1);
      if (item !== undefined) items.push(item);
      this.#space();
      if (this.text[this.#at] !== ',' || this.#at === before) break;
      this.#at += 1;
    }
    if (this.text[this.#at] === ']') this.#at += 1;
    return items;
  }

  #string(): string {
    const from = (this.#at += 1);
    for (; this.#at < this.text.length; this.#at += 1) {
      const ch = this.text[this.#at];
      if (ch === '"') return unescape(this.text.slice(from, this.#at++));
      if (ch === '\\') this.#at += 1;
    }
    return unescape(this.text.slice(from));
  }

  #word(): unknown {
    const word = /^[^\s,\]}:"]*/.exec(this.text.slice(this.#at, this.#at + 64))?.[0] ?? '';
    this.#at += word.length;
    try {
      return JSON.parse(word) as unknown;
    } catch {
      return undefined;
    }
  }
}

/** The text of a JSON string without its quotes; an escape that is not complete is left out. */
function unescape(raw: string): string {
  const whole = raw.replace(/(^|[^\\])((?:\\\\)*)\\(?:u[\da-fA-F]{0,3})?$/, '$1$2');
  try {
    return JSON.parse(`"${whole.replace(/[\n\r\t\x00-\x1f]/g, (ch) => JSON.stringify(ch).slice(1, -1))}"`) as string;
  } catch {
    return whole;
  }
}

/** The value of JSON text as far as it is written. */
export function partialJson(text: string): unknown {
  return new Reader(text.length > MAX ? text.slice(0, MAX) : text).value();
}
