// Following an execution: each event of its log exactly once, over any number of connections.
import { ApiError } from './errors.js';
import { route, type Http } from './http.js';
import { Position } from './position.js';
import { resumeStream, type StreamOptions } from './stream.js';
import type { ExecutionEvent, FileChange, OutputStream } from './types.js';

export interface FollowOptions extends StreamOptions {
  /** Continue after this `seq`. 0 if absent: from the beginning. */
  after?: number;
  /** The event that ends the iteration: `closed` if absent. */
  until?: 'exited' | 'closed';
  /** Start about this many bytes before the end; the skipped part is reported as a gap. */
  tail?: number;
  /** Output of these streams only. Other events always come. */
  streams?: OutputStream[];
  /** Miss nothing: the program waits for this reader. Needs write access. */
  lossless?: boolean;
  /** Hold output back for up to this long, to get fewer and larger events. The server's default is 100; 0 is at once. */
  batchMs?: number;
  batchBytes?: number;
}

/** Yields the events of an execution. The server may be restarted meanwhile: nothing is lost or repeated. */
export function followExecution(
  http: Http,
  id: string,
  options: FollowOptions = {},
): AsyncGenerator<ExecutionEvent, void> {
  const until = options.until ?? 'closed';
  const position = new Position(options.after);
  let tail = options.tail;
  return resumeStream<ExecutionEvent>(
    (signal) =>
      http.raw('GET', route`/v1/executions/${id}/events`, {
        signal,
        query: {
          after: position.seq,
          tail,
          until,
          streams: options.streams?.join(','),
          lossless: options.lossless,
          batch_ms: options.batchMs,
          batch_bytes: options.batchBytes,
        },
        headers: {
          accept: 'text/event-stream',
          // With the header, the server answers 204 if nothing follows. It would ignore `tail`.
          'Last-Event-ID': tail === undefined && position.seq > 0 ? String(position.seq) : undefined,
        },
      }),
    ({ event: name, data }) => {
      if (name === 'reconnect') return {};
      if (name === 'error') throw streamError(data);
      const event = JSON.parse(data) as ExecutionEvent;
      const item = position.pass(event);
      if (event.type === 'stdout' || event.type === 'stderr' || event.type === 'output') tail = undefined;
      return { item, last: event.type === 'closed' || event.type === until };
    },
    options,
  );
}

/** An event of a feed: of an execution in a session or a conversation. */
export type FeedEvent = ExecutionEvent & { execution_id?: string };

/** Yields the events of all executions of a session or a conversation. The position is an opaque id. */
export function followFeed(
  http: Http,
  path: string,
  { after, ...options }: StreamOptions & { after?: string } = {},
): AsyncGenerator<{ id: string | undefined; event: FeedEvent }, void> {
  let position = after;
  return resumeStream(
    (signal) => http.raw('GET', path, { signal, query: { after: position }, headers: { accept: 'text/event-stream' } }),
    ({ event: name, data, id }) => {
      if (name === 'error') throw streamError(data);
      if (id !== undefined) position = id;
      return name === 'reconnect' ? {} : { item: { id, event: JSON.parse(data) as FeedEvent } };
    },
    options,
  );
}

export interface WatchOptions extends StreamOptions {
  /** The folder to watch; the workspace if absent. */
  path?: string;
  recursive?: boolean;
}

/**
 * Yields the changes in a workspace, from `ready` to `ended`. A watch has no position: after a broken connection it
 * yields `rescan`, which means that everything has to be read again.
 */
export function watchFiles(http: Http, session: string, options: WatchOptions = {}): AsyncGenerator<FileChange, void> {
  let wasReady = false;
  return resumeStream<FileChange>(
    (signal) =>
      http.raw('GET', route`/v1/sessions/${session}/files/watch`, {
        signal,
        query: { path: options.path, recursive: options.recursive },
        headers: { accept: 'text/event-stream' },
      }),
    ({ event: name, data }) => {
      if (name === 'reconnect') return {};
      if (name === 'error') throw streamError(data);
      const change = JSON.parse(data) as FileChange;
      if (change.type !== 'ready') return { item: change, last: change.type === 'ended' };
      const item: FileChange = wasReady ? { ...change, type: 'rescan' } : change;
      wasReady = true;
      return { item };
    },
    options,
  );
}

/** The error that a server sends in a stream. It has no status. */
function streamError(data: string): ApiError {
  const body = JSON.parse(data) as { code?: string; message?: string; hint?: string };
  return new ApiError(0, body.code ?? 'unknown', body.message ?? 'The stream cannot continue.', body.hint);
}
