// The binary frames of WebSockets: `attach` and terminals. Numbers are little-endian.
import type { ExecutionEvent, OutputStream } from './types.js';

/** Bytes that a program wrote. */
export interface OutputFrame {
  type: OutputStream;
  seq: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Events that only terminals send, in addition to those of the log. */
export type TerminalEvent =
  | { type: 'attached'; execution_id: string; name: string; rows: number; cols: number; read_only: boolean }
  | { type: 'resized'; rows: number; cols: number }
  | { type: 'snapshot'; seq: number; rows: number; cols: number; title: string; bytes: number }
  | { type: 'prompt'; seq: number }
  | { type: 'command_started'; seq: number; line?: string | null }
  | { type: 'command_ended'; seq: number; exit_code?: number | null }
  | { type: 'directory'; seq: number; path: string };

/** The answer to a frame of this client that the server refused. The socket stays open. */
export interface ErrorFrame {
  type: 'error';
  code: string;
  message: string;
  hint?: string | null;
}

/** Everything but output. */
export type EventFrame = Exclude<ExecutionEvent, { type: OutputStream }> | TerminalEvent | ErrorFrame;
export type ServerFrame = OutputFrame | EventFrame;

/** A message over 1 MiB closes the socket: longer input is cut into frames of this size. */
export const MAX_INPUT_BYTES = 64 * 1024;

const STREAMS: Record<number, OutputStream> = { 1: 'stdout', 2: 'stderr', 3: 'output' };

/** Decodes a frame of the server; undefined for one that this version does not know, or that is malformed. */
export function decodeFrame(data: ArrayBuffer): ServerFrame | undefined {
  const view = new DataView(data);
  if (view.byteLength === 0) return undefined;
  if (view.getUint8(0) === 0x02) return decodeEvent(new TextDecoder().decode(new Uint8Array(data, 1)));
  if (view.getUint8(0) !== 0x01 || view.byteLength < 10) return undefined;
  const type = STREAMS[view.getUint8(1)];
  return type && { type, seq: Number(view.getBigUint64(2, true)), bytes: new Uint8Array(data, 10) };
}

function decodeEvent(json: string): EventFrame | undefined {
  try {
    const value = JSON.parse(json) as { type?: unknown } | null;
    return typeof value?.type === 'string' ? (value as EventFrame) : undefined;
  } catch {
    return undefined;
  }
}

export function isOutput(frame: ServerFrame): frame is OutputFrame {
  return frame.type === 'stdout' || frame.type === 'stderr' || frame.type === 'output';
}

/** Bytes for standard input, or keys of a terminal. */
export function inputFrame(input: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input;
  const frame = new Uint8Array(bytes.length + 1);
  frame[0] = 0x10;
  frame.set(bytes, 1);
  return frame;
}

/** Input of any length, as frames that the server accepts. */
export function inputFrames(input: string | Uint8Array, max = MAX_INPUT_BYTES): Uint8Array<ArrayBuffer>[] {
  const bytes = typeof input === 'string' ? new TextEncoder().encode(input) : input;
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length; at += max) frames.push(inputFrame(bytes.subarray(at, at + max)));
  return frames;
}

/** The end of standard input. */
export function eofFrame(): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(0x11);
}

export function resizeFrame(rows: number, cols: number): Uint8Array<ArrayBuffer> {
  return numbers(0x12, [rows, 2], [cols, 2]);
}

/** A signal for the foreground process group. */
export function signalFrame(signal: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(0x13, signal);
}

/** How many more bytes of output the server may send. */
export function creditFrame(bytes: number): Uint8Array<ArrayBuffer> {
  return numbers(0x14, [bytes, 4]);
}

function numbers(kind: number, ...fields: [value: number, size: 2 | 4][]): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(1 + fields.reduce((length, [, size]) => length + size, 0));
  const view = new DataView(frame.buffer);
  frame[0] = kind;
  let at = 1;
  for (const [value, size] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return frame;
}
