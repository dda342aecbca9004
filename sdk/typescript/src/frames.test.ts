// Binary frames, byte for byte as in docs/api.md.
import { expect, test } from 'vitest';
import {
  creditFrame,
  decodeFrame,
  eofFrame,
  inputFrame,
  inputFrames,
  MAX_INPUT_BYTES,
  resizeFrame,
  signalFrame,
} from './frames.js';

test('output has its stream, its seq and its bytes', () => {
  const frame = Uint8Array.of(0x01, 2, 0x05, 0x01, 0, 0, 0, 0, 0, 0, 0x61, 0xff);
  expect(decodeFrame(frame.buffer)).toEqual({ type: 'stderr', seq: 261, bytes: Uint8Array.of(0x61, 0xff) });
});

test('other events are JSON, and unknown frames are ignored', () => {
  const json = new TextEncoder().encode('\x02{"type":"closed","seq":9,"at_ms":1}');
  expect(decodeFrame(json.slice().buffer)).toEqual({ type: 'closed', seq: 9, at_ms: 1 });
  for (const bytes of [[], [0x01, 1, 0], [0x01, 9, 0, 0, 0, 0, 0, 0, 0, 0], [0x7f, 1]]) {
    expect(decodeFrame(Uint8Array.from(bytes).buffer)).toBeUndefined();
  }
});

test('malformed events are ignored', () => {
  for (const json of ['', '{', '[]', 'null', '7', '{"type":7}', '{"seq":1}']) {
    expect(decodeFrame(new TextEncoder().encode(`\x02${json}`).slice().buffer)).toBeUndefined();
  }
});

test('long input is cut without losing a byte', () => {
  const input = Uint8Array.from({ length: 2 * MAX_INPUT_BYTES + 3 }, (_, at) => at % 251);
  const frames = inputFrames(input);
  expect(frames.map((frame) => [frame[0], frame.length - 1])).toEqual([
    [0x10, MAX_INPUT_BYTES],
    [0x10, MAX_INPUT_BYTES],
    [0x10, 3],
  ]);
  expect(frames.flatMap((frame) => [...frame.subarray(1)])).toEqual([...input]);
  expect(inputFrames('')).toEqual([]);
});

test('frames of the client', () => {
  expect([...inputFrame('ü')]).toEqual([0x10, 0xc3, 0xbc]);
  expect([...inputFrame(Uint8Array.of(0, 255))]).toEqual([0x10, 0, 255]);
  expect([...eofFrame()]).toEqual([0x11]);
  expect([...resizeFrame(24, 300)]).toEqual([0x12, 24, 0, 44, 1]);
  expect([...signalFrame(15)]).toEqual([0x13, 15]);
  expect([...creditFrame(0x01020304)]).toEqual([0x14, 4, 3, 2, 1]);
});
