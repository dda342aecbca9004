// Bytes and text, in Node and in browsers alike.
import type { OutputEvent } from './types.js';

const encoder = new TextEncoder();

export function fromBase64(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The bytes of an output event, exactly as the program wrote them. */
export function outputBytes(event: Pick<OutputEvent, 'text' | 'base64'>): Uint8Array<ArrayBuffer> {
  return event.base64 ? fromBase64(event.base64) : encoder.encode(event.text ?? '');
}

/** The bytes of an output event as text. Bytes that are not UTF-8 are replaced by U+FFFD. */
export function outputText(event: Pick<OutputEvent, 'text' | 'base64'>): string {
  return event.base64 ? new TextDecoder().decode(fromBase64(event.base64)) : (event.text ?? '');
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
