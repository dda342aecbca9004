// Bytes of a stream to text, however the bytes are cut into events.

/** Decodes one stream. A character that is not complete yet is kept for the next event. */
export class StreamDecoder {
  /** The first bytes of an incomplete character: at most three. */
  carry: number[];

  constructor(carry: number[] = []) {
    this.carry = carry;
  }

  text(text: string): string {
    // Events with text contain whole characters, so the common case needs no decoding.
    return this.carry.length === 0 ? text : this.bytes(encoder.encode(text));
  }

  bytes(bytes: Uint8Array): string {
    let all = bytes;
    if (this.carry.length > 0) {
      all = new Uint8Array(this.carry.length + bytes.length);
      all.set(this.carry);
      all.set(bytes, this.carry.length);
    }
    const keep = incompleteTail(all);
    this.carry = Array.from(all.subarray(all.length - keep));
    return decoder.decode(all.subarray(0, all.length - keep));
  }

  /** The end of the stream, or a gap: an incomplete character becomes U+FFFD. */
  finish(): string {
    const text = this.carry.length === 0 ? '' : '\ufffd';
    this.carry = [];
    return text;
  }
}

const encoder = new TextEncoder();
// Without `ignoreBOM` a byte order mark at the start of an event would be lost.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns how many bytes at the end may be the beginning of a character. */
export function incompleteTail(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let back = 1; back <= Math.min(3, end); back += 1) {
    const byte = bytes[end - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return byte <= 0xf4 && back < length ? back : 0;
    }
  }
  return 0;
}

/** Decodes base64 to bytes. */
export function fromBase64(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}
