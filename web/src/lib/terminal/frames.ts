// The binary frames of a terminal's socket (docs/api.md, "Send input" and "Terminals"): encoding of what a viewer sends,
// decoding of what the server sends. Numbers are little-endian; the first byte is the kind.

const OUTPUT = 0x01;
const EVENT = 0x02;
const KEYS = 0x10;
const RESIZE = 0x12;
const CREDIT = 0x14;

/** The bytes before the output in an output frame: kind, stream, seq. */
const OUTPUT_HEADER = 10;

/** A message over 1 MiB closes the socket; pasted text is cut into frames of this size. */
export const MAX_KEYS_BYTES = 64 * 1024;

/** The size of a terminal in cells. */
export interface Size {
  rows: number;
  cols: number;
}

/** Output, with the position in the log that it reaches. */
export interface OutputFrame {
  type: 'output';
  seq: number;
  bytes: Uint8Array;
}

/** The events that a viewer acts on. All others only carry a position. */
export type TerminalEvent =
  | { type: 'attached'; executionId: string; name: string; size: Size; readOnly: boolean }
  | { type: 'resized'; size: Size }
  | { type: 'snapshot'; seq: number; size: Size; title: string; bytes: number }
  | { type: 'prompt'; seq: number }
  | { type: 'command_started'; seq: number; line: string | undefined }
  | { type: 'command_ended'; seq: number; exitCode: number | undefined }
  | { type: 'directory'; seq: number; path: string }
  | { type: 'exited'; seq: number; code: number | undefined; message: string | undefined }
  | { type: 'error'; code: string; message: string; hint: string }
  | { type: 'other'; seq: number | undefined };

export type ServerFrame = OutputFrame | TerminalEvent;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Keys as frames, each small enough to be accepted. */
export function encodeKeys(keys: string | Uint8Array): Uint8Array<ArrayBuffer>[] {
  const bytes = typeof keys === 'string' ? encoder.encode(keys) : keys;
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length; at += MAX_KEYS_BYTES) {
    const part = bytes.subarray(at, at + MAX_KEYS_BYTES);
    const frame = new Uint8Array(1 + part.length);
    frame[0] = KEYS;
    frame.set(part, 1);
    frames.push(frame);
  }
  return frames;
}

/** The size of the viewer's window. */
export function encodeResize(size: Size): Uint8Array<ArrayBuffer> {
  const frame = new DataView(new ArrayBuffer(5));
  frame.setUint8(0, RESIZE);
  frame.setUint16(1, size.rows, true);
  frame.setUint16(3, size.cols, true);
  return new Uint8Array(frame.buffer);
}

/** How many more bytes of output the server may send. */
export function encodeCredit(bytes: number): Uint8Array<ArrayBuffer> {
  const frame = new DataView(new ArrayBuffer(5));
  frame.setUint8(0, CREDIT);
  frame.setUint32(1, bytes, true);
  return new Uint8Array(frame.buffer);
}

/** Decodes a frame of the server; undefined if it is of an unknown kind or malformed. */
export function decodeFrame(data: ArrayBuffer): ServerFrame | undefined {
  const view = new DataView(data);
  if (view.byteLength === 0) return undefined;
  const kind = view.getUint8(0);
  if (kind === OUTPUT && view.byteLength >= OUTPUT_HEADER) {
    const seq = Number(view.getBigUint64(2, true));
    return { type: 'output', seq, bytes: new Uint8Array(data, OUTPUT_HEADER) };
  }
  if (kind === EVENT) return decodeEvent(decoder.decode(new Uint8Array(data, 1)));
  return undefined;
}

/** Decodes the JSON of an event; undefined if it is not one. */
export function decodeEvent(json: string): TerminalEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  return event(new Fields(value as Record<string, unknown>));
}

function event(fields: Fields): TerminalEvent | undefined {
  const type = fields.text('type');
  const seq = fields.number('seq') ?? 0;
  const size = { rows: fields.number('rows') ?? 24, cols: fields.number('cols') ?? 80 };
  switch (type) {
    case undefined:
      return undefined;
    case 'attached': {
      const [executionId, name] = [fields.text('execution_id') ?? '', fields.text('name') ?? ''];
      return { type, executionId, name, size, readOnly: fields.flag('read_only') };
    }
    case 'resized':
      return { type, size };
    case 'snapshot':
      return { type, seq, size, title: fields.text('title') ?? '', bytes: fields.number('bytes') ?? 0 };
    case 'prompt':
      return { type, seq };
    case 'command_started':
      return { type, seq, line: fields.text('line') };
    case 'command_ended':
      return { type, seq, exitCode: fields.number('exit_code') };
    case 'directory':
      return { type, seq, path: fields.text('path') ?? '' };
    case 'exited':
      return { type, seq, code: fields.number('code'), message: fields.text('message') };
    case 'error': {
      const [code, message] = [fields.text('code') ?? '', fields.text('message') ?? ''];
      return { type, code, message, hint: fields.text('hint') ?? '' };
    }
    default:
      return { type: 'other', seq: fields.number('seq') };
  }
}

/** Fields of an object that came from outside: a field of another type counts as absent. */
class Fields {
  constructor(private readonly value: Record<string, unknown>) {}

  text(name: string): string | undefined {
    const value = this.value[name];
    return typeof value === 'string' ? value : undefined;
  }

  number(name: string): number | undefined {
    const value = this.value[name];
    return typeof value === 'number' ? value : undefined;
  }

  flag(name: string): boolean {
    return this.value[name] === true;
  }
}
