// A stream of server-sent events over fetch that is opened again when it breaks.
import { ConnectionError, isTransient } from './errors.js';
import { Retry, type RetryOptions } from './retry.js';
import { SseParser, type SseMessage } from './sse.js';

/** The state of a connection that is kept open. */
export type ConnectionState = 'connecting' | 'connected' | 'reconnecting' | 'closed';

export interface StreamOptions {
  /** Ends the iteration, without an error. */
  signal?: AbortSignal;
  /** Called when the state of the connection changes. */
  onState?: (state: ConnectionState) => void;
  retry?: RetryOptions;
  /** A connection without a byte for this long is considered broken (the server sends one every 15 s). 45000 if absent. */
  silenceMs?: number;
}

/** What a reader of a stream decides about a message. */
export interface Step<T> {
  /** The item to yield, if the message has a new one. */
  item?: T;
  /** The stream ends with this message. */
  last?: boolean;
}

/** Opens a connection. It requests what comes after the last message that `read` saw. */
export type Open = (signal: AbortSignal) => Promise<Response>;

/**
 * Yields the items of a stream over any number of connections. Network errors, 5xx and 429 are retried with back-off;
 * every other refusal is thrown. `open` and `read` share the position, so that each item is yielded once.
 */
export async function* resumeStream<T>(
  open: Open,
  read: (message: SseMessage) => Step<T>,
  options: StreamOptions = {},
): AsyncGenerator<T, void, undefined> {
  const { signal, onState = () => {} } = options;
  const retry = new Retry(options.retry);
  let state: ConnectionState | undefined;
  const enter = (next: ConnectionState): void => {
    if (state !== next) onState((state = next));
  };
  enter('connecting');
  try {
    while (!signal?.aborted) {
      let failure: unknown = new ConnectionError('The stream ended before its last event.');
      try {
        for await (const message of connection(open, () => enter('connected'), options)) {
          if (message === 'end') return;
          const step = read(message);
          if (step.item !== undefined) {
            retry.reset();
            yield step.item;
          }
          if (step.last) return;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (!isTransient(error)) throw error;
        failure = error;
      }
      if (signal?.aborted) return;
      enter('reconnecting');
      await retry.pause(failure, signal);
    }
  } finally {
    enter('closed');
  }
}

/** The messages of one connection; `end` if the server says that nothing follows (204). */
async function* connection(
  open: Open,
  onOpen: () => void,
  { signal, silenceMs = 45_000 }: StreamOptions,
): AsyncGenerator<SseMessage | 'end', void, undefined> {
  const abort = new AbortController();
  const forward = (): void => abort.abort();
  signal?.addEventListener('abort', forward, { once: true });
  let watchdog = setTimeout(forward, silenceMs);
  try {
    const response = await open(abort.signal).catch((cause: unknown) => {
      throw abort.signal.aborted ? new ConnectionError('The server does not answer.', { cause }) : cause;
    });
    onOpen();
    if (response.status === 204 || !response.body) {
      yield 'end';
      return;
    }
    const parser = new SseParser();
    const reader = response.body.getReader();
    for (;;) {
      clearTimeout(watchdog);
      watchdog = setTimeout(forward, silenceMs);
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new ConnectionError('The connection broke.', { cause });
      });
      // While the caller works on what it got, the silence is its own.
      clearTimeout(watchdog);
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    clearTimeout(watchdog);
    signal?.removeEventListener('abort', forward);
    abort.abort();
  }
}
