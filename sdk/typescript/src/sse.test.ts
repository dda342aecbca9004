// The parser gives the same messages however the stream is cut.
import { describe, expect, test } from 'vitest';
import { SseParser, type SseMessage } from './sse.js';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function parse(...chunks: Uint8Array[]): SseMessage[] {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

const STREAM = [
  ': a comment\n\n',
  'retry: 100\n\n',
  'id: 1\nevent: stdout\ndata: {"text":"grüße 👋"}\n\n',
  'event: reconnect\ndata: {"after":1}\n\n',
  'id: 2\r\nevent: stderr\r\ndata: a\r\ndata: b\r\n\r\n',
  'id: 3\rdata:no space\r\r',
  'data\n\n',
  'event: nothing\n\n',
  'id: bad\0id\ndata: :colon: x\nunknown: y\n\n',
].join('');

const EXPECTED: SseMessage[] = [
  { event: 'stdout', data: '{"text":"grüße 👋"}', id: '1' },
  { event: 'reconnect', data: '{"after":1}', id: '1' },
  { event: 'stderr', data: 'a\nb', id: '2' },
  { event: 'message', data: 'no space', id: '3' },
  { event: 'message', data: '', id: '3' },
  { event: 'message', data: ':colon: x', id: '3' },
];

describe('SseParser', () => {
  test('parses a stream in one piece', () => {
    expect(parse(encode(STREAM))).toEqual(EXPECTED);
  });

  test('parses a stream that is cut at every byte', () => {
    const bytes = encode(STREAM);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(parse(bytes.slice(0, cut), bytes.slice(cut)), `cut at ${cut}`).toEqual(EXPECTED);
    }
  });

  test('parses a stream byte by byte', () => {
    expect(parse(...Array.from(encode(STREAM), (byte) => Uint8Array.of(byte)))).toEqual(EXPECTED);
  });

  test('ignores a byte order mark, and an event without its empty line', () => {
    expect(parse(encode('\uFEFFdata: a\n\ndata: unfinished\n'))).toEqual([
      { event: 'message', data: 'a', id: undefined },
    ]);
  });
});
