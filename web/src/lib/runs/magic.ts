// Recognises output that is not text, by its first bytes.

export interface Kind {
  /** The MIME type of an image that browsers show; null for other binary data. */
  image: string | null;
  /** `PNG`, `ELF`, ... ; empty if it is not known. */
  name: string;
}

const MAGIC: [prefix: number[], name: string, image: string | null][] = [
  [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], 'PNG', 'image/png'],
  [[0xff, 0xd8, 0xff], 'JPEG', 'image/jpeg'],
  [[0x47, 0x49, 0x46, 0x38], 'GIF', 'image/gif'],
  [[0x7f, 0x45, 0x4c, 0x46], 'ELF', null],
  [[0x1f, 0x8b], 'gzip', null],
  [[0x28, 0xb5, 0x2f, 0xfd], 'Zstandard', null],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], 'xz', null],
  [[0x42, 0x5a, 0x68], 'bzip2', null],
  [[0x50, 0x4b, 0x03, 0x04], 'ZIP', null],
  [[0x25, 0x50, 0x44, 0x46, 0x2d], 'PDF', null],
  [[0x00, 0x61, 0x73, 0x6d], 'WebAssembly', null],
  [[0x53, 0x51, 0x4c, 0x69, 0x74, 0x65, 0x20, 0x66], 'SQLite', null],
];

/** Text may contain a few odd bytes; this share of them makes it binary. */
const ODD = 0.1;

/** Returns what the bytes are, or null for text. SVG is text: it is never drawn. */
export function sniff(bytes: Uint8Array): Kind | null {
  const begins = (prefix: number[], at = 0): boolean => prefix.every((byte, index) => bytes[at + index] === byte);
  for (const [prefix, name, image] of MAGIC) {
    // `BZh` and `%PDF-` also begin texts; the digit or the odd bytes behind them decide.
    if (!begins(prefix)) continue;
    if (name === 'bzip2' && !/[1-9]/.test(String.fromCharCode(bytes[3] ?? 0))) continue;
    return { image, name };
  }
  if (begins([0x52, 0x49, 0x46, 0x46]) && begins([0x57, 0x45, 0x42, 0x50], 8))
    return { image: 'image/webp', name: 'WebP' };
  if (begins([0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69, 0x66], 4)) return { image: 'image/avif', name: 'AVIF' };
  return isBinary(bytes) ? { image: null, name: '' } : null;
}

function isBinary(bytes: Uint8Array): boolean {
  const part = bytes.subarray(0, 4096);
  let odd = 0;
  for (const byte of part) {
    if (byte === 0) return true;
    const isControl = byte < 0x20 && ![7, 8, 9, 10, 12, 13, 27].includes(byte);
    if (isControl) odd += 1;
  }
  const replaced = new TextDecoder().decode(part.subarray(0, part.length - 3)).split('\ufffd').length - 1;
  return part.length > 0 && (odd + replaced) / part.length > ODD;
}
