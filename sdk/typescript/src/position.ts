// The position of a reader in a log. It decides which events are new.
import type { ExecutionEvent, OutputStream } from './types.js';

/** The seq to resume after, and the end of each stream as far as it is known. */
export class Position {
  readonly #ends = new Map<OutputStream, number>();

  constructor(public seq = 0) {}

  /**
   * Advances to an event; returns it if it is new. A gap may repeat the seq of the event before it: it is new if it
   * covers bytes after the known end of its stream.
   */
  pass(event: ExecutionEvent): ExecutionEvent | undefined {
    const known = this.seq;
    if (event.type === 'gap') {
      const end = this.#ends.get(event.stream) ?? 0;
      this.#ends.set(event.stream, Math.max(end, event.to_byte));
      this.seq = Math.max(known, event.seq);
      const from = Math.max(event.from_byte, end);
      return event.seq >= known && event.to_byte > from ? { ...event, from_byte: from } : undefined;
    }
    if (event.seq <= known) return undefined;
    this.seq = event.seq;
    if (event.type === 'stdout' || event.type === 'stderr' || event.type === 'output') {
      this.#ends.set(event.type, event.offset + byteLength(event));
    }
    return event;
  }
}

function byteLength(event: { text?: string | null; base64?: string | null }): number {
  if (event.base64) {
    const padding = event.base64.endsWith('==') ? 2 : event.base64.endsWith('=') ? 1 : 0;
    return (event.base64.length / 4) * 3 - padding;
  }
  return new TextEncoder().encode(event.text ?? '').length;
}
