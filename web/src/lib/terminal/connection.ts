// The connection of a viewer to a terminal: opens the socket, keeps count of what came, grants credit as the emulator
// draws, and connects again after a break, where the break was.

import { creditFrame, decodeFrame, inputFrames, isOutput, resizeFrame, type EventFrame } from 'headwater';
import type { Size } from './address';
import { backoff } from './backoff';
import { Position } from './position';
import type { Resume } from './position';

/** How many bytes the server may send ahead of the emulator. Small enough that Ctrl+C stops a flood at once. */
const WINDOW_BYTES = 256 * 1024;
/** Credit is granted in pieces of this size. */
const GRANT_BYTES = WINDOW_BYTES / 4;
/** A handshake that takes longer has failed. */
const OPEN_TIMEOUT_MS = 15_000;

/** Why a terminal cannot be opened, and trying again would not help. */
export type Refusal = 'signed-out' | 'missing' | 'session-ended' | 'failed';

export type ConnectionState =
  | { kind: 'connecting' }
  | { kind: 'connected'; readOnly: boolean }
  /** The connection broke; the next attempt is at `retryAt` (ms since the epoch). */
  | { kind: 'reconnecting'; retryAt: number; offline: boolean }
  | { kind: 'ended'; code: number | undefined; message: string | undefined }
  | { kind: 'refused'; reason: Refusal; message: string }
  | { kind: 'closed' };

/** Where a connection delivers what it gets. */
export interface Sink {
  /** Shows output that came after the event `from`; calls `done` once it is drawn. */
  write(bytes: Uint8Array, from: number, done: () => void): void;
  /** Empties the screen: what follows belongs to another terminal. */
  clear(): void;
  event(event: EventFrame): void;
  state(state: ConnectionState): void;
}

export interface ConnectionOptions {
  /** The address of the socket. */
  address: (size: Size, resume: Resume | undefined) => string;
  /** Asks the server why the socket did not open; undefined if it may open later. */
  explain: () => Promise<{ reason: Refusal; message: string } | undefined>;
  sink: Sink;
  size: Size;
  open?: (address: string) => WebSocket;
  random?: () => number;
  isOnline?: () => boolean;
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #position = new Position();
  #size: Size;
  /** The size that the server knows. */
  #sentSize: Size;
  #state: ConnectionState = { kind: 'connecting' };
  #socket: WebSocket | undefined;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reached = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#size = this.#sentSize = options.size;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The execution that runs the terminal, once it is known. */
  get executionId(): string | undefined {
    return this.#position.executionId;
  }

  /** Connects now, also before the time of the next attempt, or after the shell has ended. */
  connect(): void {
    this.#drop();
    if (this.#state.kind === 'ended') {
      this.#position.reset();
      this.#options.sink.clear();
    }
    this.#set({ kind: 'connecting' });
    const resume = this.#position.resume;
    this.#position.connecting();
    this.#sentSize = this.#size;
    const open = this.#options.open ?? ((address) => new WebSocket(address));
    const socket = open(this.#options.address(this.#size, resume));
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#broke(socket, undefined), OPEN_TIMEOUT_MS);
    socket.onopen = () => socket.send(creditFrame(WINDOW_BYTES));
    socket.onmessage = (message: MessageEvent<unknown>) => {
      if (message.data instanceof ArrayBuffer) this.#frame(socket, message.data);
    };
    socket.onclose = (close) => this.#broke(socket, close);
  }

  /** Sends keys. Returns false, and sends nothing, if there is no connection. */
  send(keys: string | Uint8Array): boolean {
    if (this.#state.kind !== 'connected' || this.#state.readOnly) return false;
    for (const frame of inputFrames(keys)) this.#socket?.send(frame);
    return true;
  }

  /** The viewer's window has this size. */
  resize(size: Size): void {
    this.#size = size;
    if (this.#state.kind === 'connected') this.#sendSize();
  }

  /** Closes the connection; the terminal keeps running. */
  close(): void {
    this.#drop();
    this.#set({ kind: 'closed' });
  }

  #sendSize(): void {
    const { rows, cols } = this.#size;
    if (rows === this.#sentSize.rows && cols === this.#sentSize.cols) return;
    this.#sentSize = this.#size;
    this.#socket?.send(resizeFrame(rows, cols));
  }

  #set(state: ConnectionState): void {
    this.#state = state;
    this.#options.sink.state(state);
  }

  /** Forgets the present socket and timer. */
  #drop(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #frame(socket: WebSocket, data: ArrayBuffer): void {
    const frame = decodeFrame(data);
    if (frame === undefined || socket !== this.#socket) return;
    const step = this.#position.take(frame);
    if (step !== 'keep') this.#options.sink.clear();
    if (step === 'restart') {
      this.connect();
      return;
    }
    if (isOutput(frame)) {
      const length = frame.bytes.length;
      const from = this.#reached;
      this.#reached = frame.seq;
      this.#options.sink.write(frame.bytes, from, () => this.#drawn(socket, length));
      return;
    }
    if (frame.type === 'attached') {
      clearTimeout(this.#timer);
      this.#attempt = 0;
      this.#set({ kind: 'connected', readOnly: frame.read_only });
      // The window may have changed since the socket was opened.
      this.#sendSize();
    }
    this.#options.sink.event(frame);
    if (frame.type !== 'exited') return;
    this.#set({ kind: 'ended', code: frame.code ?? undefined, message: frame.message ?? undefined });
  }

  #owed = 0;

  /** Output was drawn: the server may send as much again. */
  #drawn(socket: WebSocket, bytes: number): void {
    if (socket !== this.#socket) {
      this.#owed = 0;
      return;
    }
    this.#owed += bytes;
    if (this.#owed < GRANT_BYTES || socket.readyState !== WebSocket.OPEN) return;
    socket.send(creditFrame(this.#owed));
    this.#owed = 0;
  }

  /** The socket closed, or did not open in time (`close` is undefined). */
  #broke(socket: WebSocket, close: CloseEvent | undefined): void {
    if (socket !== this.#socket) return;
    const wasAttached = this.#state.kind === 'connected';
    this.#drop();
    this.#owed = 0;
    if (this.#state.kind === 'ended') return;
    // After the last event there is nothing to wait for, even if `exited` came in an earlier connection.
    if (close?.code === 1000 && wasAttached) {
      this.#set({ kind: 'ended', code: undefined, message: undefined });
      return;
    }
    // The rest of the log cannot be read: only the screen can continue.
    if (close?.code === 1011) this.#position.reset();
    if (wasAttached && close?.code !== 1008) this.#retry();
    else void this.#explained();
  }

  #retry(): void {
    const delay = backoff(this.#attempt, this.#options.random);
    this.#attempt += 1;
    const offline = this.#options.isOnline?.() === false;
    this.#set({ kind: 'reconnecting', retryAt: Date.now() + delay, offline });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.connect(), delay);
  }

  /** A browser does not say why a socket was refused: the server is asked over HTTP. */
  async #explained(): Promise<void> {
    const before = this.#state;
    const refusal = await this.#options.explain().catch(() => undefined);
    if (this.#state !== before || this.#socket !== undefined) return;
    if (refusal === undefined) this.#retry();
    else this.#set({ kind: 'refused', ...refusal });
  }
}
