// Requests to the server: addresses, bodies, errors.
import { ApiError, ConnectionError, isTransient } from './errors.js';
import { Retry } from './retry.js';

export type QueryValue = string | number | boolean | null | undefined;
/** A body that is sent as it is. Everything else is sent as JSON. */
export type RawBody =
  string | ArrayBuffer | ArrayBufferView<ArrayBuffer> | Blob | FormData | ReadableStream<Uint8Array>;

export interface RequestOptions {
  query?: object | undefined;
  body?: unknown;
  headers?: Record<string, string | undefined>;
  signal?: AbortSignal | undefined;
}

export interface HeadwaterOptions {
  /** The address of the server. Empty, the default: the origin of the page, with its cookie. */
  baseUrl?: string;
  /** An API token, an access token or the token of a link. In a browser, the cookie is used without one. */
  token?: string;
  fetch?: typeof fetch;
  /** The class for sockets: needed in Node before 22, such as that of the package `ws`. */
  WebSocket?: typeof WebSocket;
}

/** A path with its values percent-encoded: route`/v1/sessions/${id}`. */
export function route(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return parts.reduce((path, part, i) => path + encodeURIComponent(String(values[i - 1])) + part);
}

/** Sends requests. The groups of the client are built on it. */
export class Http {
  readonly baseUrl: string;
  readonly token: string | undefined;
  readonly #fetch: typeof fetch;
  readonly #socket: typeof WebSocket | undefined;

  constructor(options: HeadwaterOptions = {}) {
    this.baseUrl = (options.baseUrl ?? '').replace(/\/+$/, '');
    this.token = options.token || undefined;
    const given = options.fetch;
    this.#fetch = given ?? ((input, init) => globalThis.fetch(input, init));
    this.#socket = options.WebSocket;
  }

  /** The address of a path. */
  url(path: string, query: object = {}): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query) as [string, QueryValue | QueryValue[]][]) {
      if (value !== undefined && value !== null) search.set(name, String(value));
    }
    return this.baseUrl + path + (search.size > 0 ? `?${search}` : '');
  }

  /** Sends a request and returns the response; throws `ApiError` unless it is a success. */
  async raw(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers = new Headers();
    if (this.token) headers.set('authorization', `Bearer ${this.token}`);
    const init: RequestInit & { duplex?: 'half' } = { method, headers, signal: options.signal ?? null };
    if (options.body !== undefined) {
      if (isRaw(options.body)) {
        init.body = options.body;
        if (!(options.body instanceof FormData)) headers.set('content-type', 'application/octet-stream');
        if (options.body instanceof ReadableStream) init.duplex = 'half';
      } else {
        init.body = JSON.stringify(options.body);
        headers.set('content-type', 'application/json');
      }
    }
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (value !== undefined) headers.set(name, value);
    }
    let response: Response;
    try {
      response = await this.#fetch(this.url(path, options.query), init);
    } catch (cause) {
      if (options.signal?.aborted) throw cause;
      throw new ConnectionError('The server cannot be reached.', { cause });
    }
    if (!response.ok) throw await ApiError.from(response);
    return response;
  }

  /** Sends a request and returns the JSON of the response; undefined if it has none. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.raw(method, path, options);
    const text = await response.text().catch((cause: unknown) => {
      if (options.signal?.aborted) throw cause;
      throw new ConnectionError('The connection broke.', { cause });
    });
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /**
   * Sends a `POST` that has its effect once, however often it is sent: with an `Idempotency-Key`, and again (five times
   * at most) if the connection breaks or the server cannot answer now.
   */
  async once<T>(path: string, options: RequestOptions & { idempotencyKey?: string | undefined } = {}): Promise<T> {
    const { idempotencyKey = newKey(), ...rest } = options;
    const headers = { ...rest.headers, 'Idempotency-Key': idempotencyKey };
    const retry = new Retry({ maxRetries: 5 });
    for (;;) {
      try {
        return await this.request<T>('POST', path, { ...rest, headers });
      } catch (error) {
        if (!isTransient(error)) throw error;
        await retry.pause(error, rest.signal);
        rest.signal?.throwIfAborted();
      }
    }
  }

  /**
   * Opens a WebSocket. No header can be set on one in a browser, so a client with a token gets a ticket for it first;
   * without a token the cookie is used.
   */
  async socket(path: string, query: object): Promise<WebSocket> {
    let ticket: string | undefined;
    if (this.token) ({ ticket } = await this.request<{ ticket: string }>('POST', '/v1/tickets'));
    return this.openSocket(path, { ...query, token: ticket });
  }

  openSocket(path: string, query: object): WebSocket {
    const Socket = this.#socket ?? globalThis.WebSocket;
    if (!Socket) throw new TypeError('No WebSocket here: pass one as the option `WebSocket`, such as that of `ws`.');
    const page = typeof location === 'undefined' ? undefined : location.href;
    const url = new URL(this.url(path, query), page);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new Socket(url.href);
    socket.binaryType = 'arraybuffer';
    return socket;
  }
}

/** A new key for `Idempotency-Key`. Pages without TLS have no `randomUUID`. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function isRaw(body: unknown): body is RawBody {
  return (
    typeof body === 'string' ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof Blob ||
    body instanceof FormData ||
    body instanceof ReadableStream
  );
}
