// Attaching to an execution or a terminal by WebSocket, over any number of sockets.
import { ApiError, ConnectionError, isTransient } from './errors.js';
import * as frames from './frames.js';
import type { ServerFrame } from './frames.js';
import { route, type Http } from './http.js';
import { Queue } from './queue.js';
import { Retry } from './retry.js';
import type { StreamOptions } from './stream.js';

export interface AttachOptions extends Omit<StreamOptions, 'silenceMs'> {
  /** Continue after this `seq`. */
  after?: number;
  readOnly?: boolean;
  until?: 'exited' | 'closed';
  lossless?: boolean;
  /** How many bytes may be on their way to the reader: a slow one slows the server down. 1 MiB if absent. */
  windowBytes?: number;
}

export interface TerminalOptions extends Omit<AttachOptions, 'until' | 'lossless'> {
  /** The name of the terminal: `main` if absent. */
  name?: string;
  rows?: number;
  cols?: number;
  /** With `after`: the terminal that it refers to, in case another one has the name now. */
  executionId?: string;
}

/** Where a socket opens, and which request tells whether that makes sense. */
interface Target {
  path: string;
  query: Record<string, unknown>;
  probe: string;
  isTerminal: boolean;
}

export function attach(http: Http, id: string, options: AttachOptions = {}): Attachment {
  const query = { until: options.until, lossless: options.lossless, read_only: options.readOnly };
  const probe = route`/v1/executions/${id}`;
  return new Attachment(http, { path: `${probe}/attach`, query, probe, isTerminal: false }, options);
}

export function openTerminal(http: Http, session: string, options: TerminalOptions = {}): Attachment {
  const query = {
    frames: 'binary',
    name: options.name,
    rows: options.rows,
    cols: options.cols,
    execution_id: options.executionId,
    read_only: options.readOnly,
  };
  const probe = route`/v1/sessions/${session}`;
  return new Attachment(http, { path: `${probe}/terminal`, query, probe, isTerminal: true }, options);
}

/**
 * A program's output and input. Iterate over it for the frames of the server: they come once and in order, also if
 * connections break. Input is sent at once, or when the socket is open again; input that was on its way when a
 * connection broke may be lost.
 */
export class Attachment implements AsyncIterable<ServerFrame> {
  readonly #queue = new Queue<ServerFrame>();
  readonly #retry: Retry;
  readonly #window: number;
  readonly #onAbort = (): void => this.close();
  #socket: WebSocket | undefined;
  #waiting: Uint8Array<ArrayBuffer>[] = [];
  #state: string | undefined;
  #closed = false;
  /** The last event that came completely. */
  #seq: number | undefined;
  /** The bytes that came of the event after it. */
  #skip = 0;
  /** The bytes that are missing of a screen. */
  #screenLeft = 0;
  /** Bytes of output that came and were not taken yet. */
  #unread = 0;
  /** Bytes that were taken and not granted again yet. */
  #credit = 0;

  constructor(
    private readonly http: Http,
    private readonly target: Target,
    private readonly options: AttachOptions,
  ) {
    this.#retry = new Retry(options.retry);
    this.#window = options.windowBytes ?? 1024 * 1024;
    this.#seq = options.after;
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    void this.#run().then(
      () => this.#finish(),
      (error: unknown) => this.#finish(error),
    );
  }

  /** The last event that came completely: pass it as `after` to continue. */
  get seq(): number {
    return this.#seq ?? 0;
  }

  /** Sends input: text or bytes for a program, keys for a terminal. */
  write(input: string | Uint8Array): void {
    for (const frame of frames.inputFrames(input)) this.#send(frame);
  }

  /** Ends the input; a terminal gets `^D`. */
  end(): void {
    this.#send(frames.eofFrame());
  }

  resize(rows: number, cols: number): void {
    this.target.query = { ...this.target.query, ...(this.target.isTerminal && { rows, cols }) };
    this.#send(frames.resizeFrame(rows, cols));
  }

  /** Sends a signal, by its number, to the foreground process group. */
  signal(signal: number): void {
    this.#send(frames.signalFrame(signal));
  }

  /** Leaves. The program keeps running. */
  close(): void {
    this.#closed = true;
    this.#socket?.close();
    this.#finish();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ServerFrame, void, undefined> {
    try {
      for (;;) {
        const frame = await this.#queue.next();
        if (frame === undefined) return;
        if (frames.isOutput(frame)) this.#grant(frame.bytes.length);
        yield frame;
      }
    } finally {
      this.close();
    }
  }

  /** Lets the server send as much as was taken; small amounts are collected. */
  #grant(bytes: number): void {
    this.#unread -= bytes;
    this.#credit += bytes;
    if (this.#credit < this.#window / 4 || this.#socket?.readyState !== 1) return;
    this.#socket.send(frames.creditFrame(this.#credit));
    this.#credit = 0;
  }

  #send(frame: Uint8Array<ArrayBuffer>): void {
    if (this.#closed) throw new ConnectionError('The attachment is closed.');
    if (this.#socket?.readyState === 1) this.#socket.send(frame);
    else this.#waiting.push(frame);
  }

  #enter(state: 'connecting' | 'connected' | 'reconnecting' | 'closed'): void {
    if (this.#state === state) return;
    this.#state = state;
    this.options.onState?.(state);
  }

  #finish(error?: unknown): void {
    this.#closed = true;
    this.options.signal?.removeEventListener('abort', this.#onAbort);
    this.#queue.end(error);
    this.#enter('closed');
  }

  async #run(): Promise<void> {
    this.#enter('connecting');
    while (!this.#closed && !this.options.signal?.aborted) {
      let failure: unknown;
      try {
        failure = await this.#connect();
        if (failure === undefined) return;
      } catch (error) {
        failure = error;
      }
      if (this.#closed) return;
      if (!isTransient(failure)) throw failure;
      this.#enter('reconnecting');
      await this.#retry.pause(failure, this.options.signal);
    }
  }

  /** One socket, from its opening to its end. Returns why it broke; undefined after the last event. */
  async #connect(): Promise<unknown> {
    if (this.#screenLeft > 0) {
      // Part of a screen is of no use, and cannot be continued: get another one.
      this.#seq = undefined;
      this.#screenLeft = 0;
    }
    const { path, query, probe } = this.target;
    const socket = await this.http.socket(path, { ...query, after: this.#seq, skip: this.#skip || undefined });
    if (this.#closed) {
      socket.close();
      return undefined;
    }
    this.#socket = socket;
    const { code, reason, wasOpen } = await this.#until(socket);
    if (code === 1000 || this.#closed) return undefined;
    if (code === 1008) return new ApiError(401, 'unauthenticated', reason || 'The credential is no longer valid.');
    if (code === 1011) return new ApiError(0, reason || 'internal', 'The rest of the log cannot be read.');
    // A socket does not tell why it was refused; an ordinary request does.
    if (!wasOpen) await this.http.raw('GET', probe);
    return new ConnectionError(`The socket was closed (${code}).`);
  }

  #until(socket: WebSocket): Promise<{ code: number; reason: string; wasOpen: boolean }> {
    return new Promise((resolve) => {
      let wasOpen = false;
      socket.onopen = () => {
        wasOpen = true;
        this.#credit = 0;
        socket.send(frames.creditFrame(Math.max(0, this.#window - this.#unread)));
        for (const frame of this.#waiting.splice(0)) socket.send(frame);
        this.#enter('connected');
      };
      socket.onmessage = ({ data }: MessageEvent<unknown>) => {
        if (data instanceof ArrayBuffer) this.#take(frames.decodeFrame(data));
      };
      socket.onclose = ({ code, reason }) => resolve({ code, reason, wasOpen });
      socket.onerror = () => {};
    });
  }

  #take(frame: ServerFrame | undefined): void {
    if (!frame) return;
    this.#retry.reset();
    if (frames.isOutput(frame)) this.#passOutput(frame);
    else if (frame.type === 'attached') this.target.query = { ...this.target.query, execution_id: frame.execution_id };
    else if (frame.type === 'snapshot') {
      this.#screenLeft = frame.bytes;
      this.#skip = 0;
    } else if ('seq' in frame && 'at_ms' in frame) {
      this.#seq = Math.max(this.seq, frame.seq);
      this.#skip = 0;
    }
    this.#queue.push(frame);
  }

  #passOutput(frame: frames.OutputFrame): void {
    this.#unread += frame.bytes.length;
    if (this.#screenLeft > 0) {
      this.#screenLeft -= Math.min(this.#screenLeft, frame.bytes.length);
      if (this.#screenLeft === 0) this.#seq = frame.seq;
    } else if (frame.seq === this.seq) {
      // A frame that repeats the seq before it is a part of the next event.
      this.#skip += frame.bytes.length;
    } else {
      this.#seq = frame.seq;
      this.#skip = 0;
    }
  }
}
