import { describe, expect, it } from 'vitest';
import { decode, encode, hexDump, imageTypeOf, isSvg } from './content';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('content', () => {
  it('tells text from bytes', () => {
    expect(decode(bytes('héllo\n'))).toEqual({ kind: 'text', text: 'héllo\n', bom: false, eol: '\n' });
    expect(decode(bytes('a\r\nb\r\n'))).toMatchObject({ eol: '\r\n' });
    expect(decode(bytes('a\0b'))).toEqual({ kind: 'binary' });
    expect(decode(new Uint8Array([0xff, 0xfe, 0x41]))).toEqual({ kind: 'binary' });
    expect(decode(new Uint8Array([0xe2, 0x82]))).toEqual({ kind: 'binary' });
    expect(decode(new Uint8Array())).toMatchObject({ kind: 'text', text: '' });
  });

  it('keeps a byte order mark', () => {
    const marked = new Uint8Array([0xef, 0xbb, 0xbf, 0x61]);
    const decoded = decode(marked);
    expect(decoded).toMatchObject({ text: 'a', bom: true });
    expect([...encode('a', true)]).toEqual([...marked]);
    expect([...encode('a', false)]).toEqual([0x61]);
  });

  it('knows pictures by suffix', () => {
    expect(imageTypeOf('a/b.PNG')).toBe('image/png');
    expect(imageTypeOf('a.svg')).toBe(null);
    expect(isSvg('a.SVG')).toBe(true);
  });

  it('dumps bytes', () => {
    expect(hexDump(new Uint8Array([0, 65, 255]), 4)).toBe(
      `00000000  00 41 ff${' '.repeat(15)}  ${' '.repeat(23)}  .A.`,
    );
    expect(hexDump(new Uint8Array(64), 2).split('\n')).toHaveLength(2);
  });
});
