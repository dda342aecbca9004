// What kind of content a file has: text for the editor, a picture, bytes, or too much of it.
import { suffixOf } from './paths';

/** Larger texts are shown without colours and checks; Monaco stays quick. */
export const PLAIN_FROM = 1024 * 1024;
/** Larger files are not opened in the editor. */
export const TOO_LARGE = 8 * 1024 * 1024;

const IMAGES: Record<string, string> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
};

/** The media type of a picture that is shown as one. SVG is text: it is edited, and its picture is a preview. */
export function imageTypeOf(path: string): string | null {
  return IMAGES[suffixOf(path).toLowerCase()] ?? null;
}

export function isSvg(path: string): boolean {
  return suffixOf(path).toLowerCase() === 'svg';
}

export type Decoded = { kind: 'text'; text: string; bom: boolean; eol: '\n' | '\r\n' } | { kind: 'binary' };

/** Decodes a file. Anything that is not valid UTF-8, or that contains a NUL, would be damaged by saving it. */
export function decode(bytes: Uint8Array): Decoded {
  if (bytes.subarray(0, 65536).includes(0)) return { kind: 'binary' };
  try {
    const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (text.includes('\0')) return { kind: 'binary' };
    const crlf = text.split('\r\n').length - 1;
    const lf = text.split('\n').length - 1;
    return { kind: 'text', text, bom, eol: crlf > lf / 2 ? '\r\n' : '\n' };
  } catch {
    return { kind: 'binary' };
  }
}

/** Encodes a text for saving, with its byte order mark if it had one. */
export function encode(text: string, bom: boolean): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(text);
  if (!bom) return body;
  const marked = new Uint8Array(body.length + 3);
  marked.set([0xef, 0xbb, 0xbf]);
  marked.set(body, 3);
  return marked;
}

/** A hex dump of the beginning of a file, as `hexdump -C` prints it. */
export function hexDump(bytes: Uint8Array, rows: number): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length && lines.length < rows; at += 16) {
    const row = [...bytes.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0'));
    const left = hex.slice(0, 8).join(' ').padEnd(23);
    const right = hex.slice(8).join(' ').padEnd(23);
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${left}  ${right}  ${text}`);
  }
  return lines.join('\n');
}
