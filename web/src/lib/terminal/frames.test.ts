// Tests of the frame codec.

import { describe, expect, it } from 'vitest';
import { decodeEvent, decodeFrame, encodeCredit, encodeKeys, encodeResize, MAX_KEYS_BYTES } from './frames';

function buffer(...bytes: number[]): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

function eventFrame(value: unknown): ArrayBuffer {
  const json = new TextEncoder().encode(JSON.stringify(value));
  return buffer(0x02, ...json);
}

describe('frames of a viewer', () => {
  it('are those of the documentation', () => {
    expect(encodeKeys('é\t')).toEqual([new Uint8Array([0x10, 0xc3, 0xa9, 0x09])]);
    expect(encodeResize({ rows: 24, cols: 0x150 })).toEqual(new Uint8Array([0x12, 0x18, 0, 0x50, 0x01]));
    expect(encodeCredit(65536)).toEqual(new Uint8Array([0x14, 0, 0, 1, 0]));
  });

  it('cut long input without losing a byte', () => {
    const input = Uint8Array.from({ length: 2 * MAX_KEYS_BYTES + 3 }, (_, at) => at % 251);
    const frames = encodeKeys(input);
    expect(frames.map((frame) => frame.length - 1)).toEqual([MAX_KEYS_BYTES, MAX_KEYS_BYTES, 3]);
    const joined = frames.flatMap((frame) => [...frame.subarray(1)]);
    expect(joined).toEqual([...input]);
    expect(encodeKeys('')).toEqual([]);
  });
});

describe('frames of the server', () => {
  it('carry output with its seq', () => {
    const frame = decodeFrame(buffer(0x01, 3, 0x02, 0x01, 0, 0, 0, 0, 0, 0, 0x61, 0xff));
    expect(frame).toEqual({ type: 'output', seq: 0x0102, bytes: new Uint8Array([0x61, 0xff]) });
  });

  it('carry events', () => {
    const attached = { type: 'attached', execution_id: 'exe_1', name: 'main', rows: 30, cols: 100, read_only: true };
    expect(decodeFrame(eventFrame(attached))).toEqual({
      type: 'attached',
      executionId: 'exe_1',
      name: 'main',
      size: { rows: 30, cols: 100 },
      readOnly: true,
    });
    expect(decodeEvent('{"type":"command_ended","seq":9,"exit_code":3}')).toEqual({
      type: 'command_ended',
      seq: 9,
      exitCode: 3,
    });
    expect(decodeEvent('{"type":"command_started","seq":9,"line":null}')).toEqual({
      type: 'command_started',
      seq: 9,
      line: undefined,
    });
    expect(decodeEvent('{"type":"closed","seq":12}')).toEqual({ type: 'other', seq: 12 });
  });

  it('that are malformed or of a later version are left out', () => {
    for (const frame of [buffer(), buffer(0x01, 3), buffer(0x77, 1), buffer(0x02, 0x7b), buffer(0x02)]) {
      expect(decodeFrame(frame)).toBeUndefined();
    }
    expect(decodeEvent('[]')).toBeUndefined();
    expect(decodeEvent('null')).toBeUndefined();
    expect(decodeEvent('{"type":7}')).toBeUndefined();
  });
});
