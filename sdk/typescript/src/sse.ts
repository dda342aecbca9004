// A parser of server-sent events (the format of `EventSource`) that takes bytes cut anywhere.

/** One message of a stream of server-sent events. */
export interface SseMessage {
  /** The name of the event; `message` if the server sent none. */
  event: string;
  data: string;
  /** The last id that the stream has sent, with this message or before it. */
  id: string | undefined;
}

/** Parses a stream of server-sent events. Feed it the bytes as they arrive. */
export class SseParser {
  readonly #decoder = new TextDecoder();
  #rest = '';
  /** A CR was the last character: an LF after it belongs to the same line end. */
  #sawCr = false;
  #event = '';
  #data: string[] = [];
  #id: string | undefined;

  /** Takes the next bytes, and returns the messages that are complete with them. */
  push(bytes: Uint8Array): SseMessage[] {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return [];
    if (this.#sawCr && text.startsWith('\n')) text = text.slice(1);
    this.#sawCr = text === '' ? false : text.endsWith('\r');
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() ?? '';
    const messages: SseMessage[] = [];
    for (const line of lines) {
      const message = this.#line(line);
      if (message) messages.push(message);
    }
    return messages;
  }

  #line(line: string): SseMessage | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return undefined;
  }

  #dispatch(): SseMessage | undefined {
    const data = this.#data;
    const event = this.#event || 'message';
    this.#data = [];
    this.#event = '';
    return data.length === 0 ? undefined : { event, data: data.join('\n'), id: this.#id };
  }
}
