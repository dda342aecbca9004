// Tests of the connection, with a socket whose other end is the test.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Connection } from './connection';
import type { ConnectionState, Refusal } from './connection';
import { socketAddress } from './address';
import type { EventFrame } from 'headwater';

class FakeSocket {
  static all: FakeSocket[] = [];
  binaryType = '';
  readyState = 1;
  sent: Uint8Array[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  onclose: ((close: { code: number }) => void) | null = null;

  constructor(readonly address: string) {
    FakeSocket.all.push(this);
  }

  send(frame: Uint8Array): void {
    this.sent.push(frame);
  }

  close(): void {
    this.readyState = 3;
  }

  event(value: unknown): void {
    const json = new TextEncoder().encode(JSON.stringify(value));
    this.onmessage?.({ data: new Uint8Array([2, ...json]).buffer });
  }

  output(seq: number, text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.onmessage?.({ data: new Uint8Array([1, 3, seq, 0, 0, 0, 0, 0, 0, 0, ...bytes]).buffer });
  }

  attach(executionId = 'exe_1'): void {
    this.onopen?.();
    this.event({ type: 'attached', execution_id: executionId, name: 'main', rows: 24, cols: 80, read_only: false });
  }

  parameter(name: string): string | null {
    return new URL(this.address).searchParams.get(name);
  }
}

function start(refusal?: { reason: Refusal; message: string }) {
  FakeSocket.all = [];
  const states: ConnectionState[] = [];
  const events: EventFrame[] = [];
  const seen = { text: '', cleared: 0 };
  const drawn: (() => void)[] = [];
  const connection = new Connection({
    address: (size, resume) =>
      socketAddress({ base: 'http://h', session: 's', name: 'main', size, resume, readOnly: false }),
    explain: () => Promise.resolve(refusal),
    size: { rows: 24, cols: 80 },
    open: (address) => new FakeSocket(address) as unknown as WebSocket,
    random: () => 1,
    isOnline: () => true,
    sink: {
      write: (bytes, _from, done) => {
        seen.text += new TextDecoder().decode(bytes);
        drawn.push(done);
      },
      clear: () => {
        seen.cleared += 1;
        seen.text = '';
      },
      event: (event) => events.push(event),
      state: (state) => states.push(state),
    },
  });
  connection.connect();
  return { connection, states, events, seen, drawn };
}

function last(): FakeSocket {
  const socket = FakeSocket.all.at(-1);
  if (socket === undefined) throw new Error('no socket was opened');
  return socket;
}

describe('connection', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('WebSocket', { OPEN: 1 });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('is connecting, then connected, and grants credit first', () => {
    const { connection, states } = start();
    expect(states.map((state) => state.kind)).toEqual(['connecting']);
    expect(connection.send('x')).toBe(false);
    last().attach();
    expect(states.map((state) => state.kind)).toEqual(['connecting', 'connected']);
    expect(last().sent[0]?.[0]).toBe(0x14);
    expect(connection.send('x')).toBe(true);
    expect(last().sent[1]).toEqual(new Uint8Array([0x10, 0x78]));
  });

  it('continues where it broke, later and later', async () => {
    const { states, seen } = start();
    last().attach();
    last().output(2, 'ab');
    last().output(2, 'part of 3');
    last().onclose?.({ code: 1006 });
    expect(states.at(-1)).toEqual({ kind: 'reconnecting', retryAt: Date.now() + 250, offline: false });
    await vi.advanceTimersByTimeAsync(250);
    expect(['execution_id', 'after', 'skip'].map((name) => last().parameter(name))).toEqual(['exe_1', '2', '9']);
    last().onclose?.({ code: 1006 });
    await vi.advanceTimersByTimeAsync(499);
    expect(FakeSocket.all).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    last().attach();
    last().output(3, ' and the rest');
    expect(seen).toEqual({ text: 'abpart of 3 and the rest', cleared: 0 });
  });

  it('says why it is refused, and does not try again', async () => {
    const { states } = start({ reason: 'missing', message: 'no such session' });
    last().onclose?.({ code: 1006 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(states.at(-1)).toEqual({ kind: 'refused', reason: 'missing', message: 'no such session' });
    expect(FakeSocket.all).toHaveLength(1);
  });

  it('ends with the shell, and starts a new one if asked to', () => {
    const { connection, states, seen } = start();
    last().attach();
    last().output(2, 'bye');
    last().event({ type: 'exited', seq: 3, code: 7 });
    last().onclose?.({ code: 1000 });
    expect(states.at(-1)).toEqual({ kind: 'ended', code: 7, message: undefined });
    connection.connect();
    expect(last().parameter('after')).toBeNull();
    expect(seen.cleared).toBe(1);
  });

  it('grants as much as was drawn, and only on the socket that sent it', () => {
    const { drawn, connection } = start();
    last().attach();
    const first = last();
    first.output(2, 'x'.repeat(40_000));
    drawn[0]?.();
    expect(first.sent).toHaveLength(1);
    first.output(3, 'x'.repeat(40_000));
    drawn[1]?.();
    expect(first.sent).toHaveLength(2);
    first.output(4, 'x'.repeat(80_000));
    connection.connect();
    last().attach();
    drawn[2]?.();
    expect(last().sent).toHaveLength(1);
  });

  it('sends its size when it changes, and opens with it', () => {
    const { connection } = start();
    last().attach();
    connection.resize({ rows: 24, cols: 80 });
    expect(last().sent).toHaveLength(1);
    connection.resize({ rows: 30, cols: 90 });
    expect(last().sent[1]).toEqual(new Uint8Array([0x12, 30, 0, 90, 0]));
    connection.close();
    connection.connect();
    connection.resize({ rows: 31, cols: 90 });
    expect(last().sent).toHaveLength(0);
    last().attach();
    expect(last().sent[1]).toEqual(new Uint8Array([0x12, 31, 0, 90, 0]));
    expect([last().parameter('rows'), last().parameter('cols')]).toEqual(['30', '90']);
  });

  it('does not wait for a handshake for ever', async () => {
    const { states } = start();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(states.at(-1)?.kind).toBe('reconnecting');
  });
});
