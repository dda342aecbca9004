// Following over a scripted server that breaks connections in every place: nothing is lost, nothing comes twice.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Headwater } from './client.js';
import { ApiError } from './errors.js';
import type { FollowOptions } from './follow.js';
import type { ConnectionState } from './stream.js';
import type { ExecutionEvent } from './types.js';

const at_ms = 0;
const LOG: ExecutionEvent[] = [
  { type: 'started', seq: 1, at_ms, execution_id: 'exe_1', pid: 7 },
  { type: 'stdout', seq: 2, at_ms, offset: 0, text: 'grüße\n' },
  { type: 'stderr', seq: 4, at_ms, offset: 0, base64: '/w==' },
  { type: 'gap', seq: 4, at_ms, stream: 'stdout', from_byte: 8, to_byte: 20 },
  { type: 'gap', seq: 6, at_ms, stream: 'stderr', from_byte: 1, to_byte: 9 },
  { type: 'stdout', seq: 9, at_ms, offset: 20, text: 'end\n' },
  {
    type: 'exited',
    seq: 10,
    at_ms,
    reason: 'exited',
    code: 0,
    duration_ms: 1,
    usage: {} as never,
    stdout_bytes: 24,
    stderr_bytes: 9,
    output_bytes: 0,
  },
  { type: 'closed', seq: 11, at_ms },
];

const frame = (event: ExecutionEvent): string =>
  `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** The events after a seq. The gap that repeats the seq before it comes again, as from the real server. */
const after = (seq: number): ExecutionEvent[] => LOG.filter((e) => e.seq > seq || (e.type === 'gap' && e.seq === seq));

let stop = (): void => {};
afterEach(() => stop());

/** Starts a server that answers the n-th request with the n-th script (the last one from then on). */
async function serve(
  ...scripts: ((request: IncomingMessage, response: ServerResponse, after: number) => void)[]
): Promise<{ client: Headwater; requests: URL[] }> {
  const requests: URL[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const script = scripts[Math.min(requests.push(url), scripts.length) - 1];
    script?.(request, response, Number(url.searchParams.get('after')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stop = () => {
    server.closeAllConnections();
    server.close();
  };
  const { port } = server.address() as AddressInfo;
  return { client: new Headwater({ baseUrl: `http://127.0.0.1:${port}`, token: 't' }), requests };
}

const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });
const whole = (_: IncomingMessage, response: ServerResponse, seq: number): void =>
  void stream(response).end(after(seq).map(frame).join(''));
const refuse =
  (status: number, code: string) =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status).end(JSON.stringify({ error: { code, message: 'No.', hint: 'Do.' } }));

async function collect(client: Headwater, options: FollowOptions = {}): Promise<ExecutionEvent[]> {
  const events: ExecutionEvent[] = [];
  const retry = { firstDelayMs: 1, maxDelayMs: 5 };
  for await (const event of client.executions.follow('exe_1', { retry, ...options })) events.push(event);
  return events;
}

describe('follow', () => {
  test('yields every event of a whole log', async () => {
    const { client, requests } = await serve(whole);
    expect(await collect(client)).toEqual(LOG);
    expect(requests).toHaveLength(1);
  });

  test('a connection that drops at every byte of the log loses and repeats nothing', async () => {
    const bytes = Buffer.from(LOG.map(frame).join(''));
    let cut = 0;
    const { client } = await serve((request, response, seq) => {
      if (seq > 0 || cut < 0) return whole(request, response, seq);
      const part = bytes.subarray(0, cut);
      cut = -cut - 1;
      stream(response).write(part, () => setImmediate(() => response.destroy()));
    });
    for (const end of Array.from(bytes.keys())) {
      cut = end;
      expect(await collect(client), `cut at ${end}`).toEqual(LOG);
    }
  });

  test('a connection that drops after each single event loses and repeats nothing', async () => {
    const { client, requests } = await serve((_, response, seq) => {
      const events = after(seq);
      // The gap of the same seq comes again with the event after it.
      const next = events.filter((event) => event.seq <= (events.find((e) => e.seq > seq)?.seq ?? 0));
      stream(response).write(next.map(frame).join(''), () => setTimeout(() => response.destroy(), 2));
    });
    expect(await collect(client)).toEqual(LOG);
    expect(requests.map((url) => url.searchParams.get('after'))).toEqual(['0', '1', '2', '4', '6', '9', '10']);
  });

  test('ends after `exited` if that is asked for', async () => {
    const { client } = await serve(whole);
    expect((await collect(client, { until: 'exited' })).at(-1)?.type).toBe('exited');
  });

  test('continues after a seq, and ends at 204', async () => {
    const { client } = await serve(whole);
    expect(await collect(client, { after: 9 })).toEqual(LOG.slice(-2));
    stop();
    const done = await serve((_, response) => void response.writeHead(204).end());
    expect(await collect(done.client, { after: 11 })).toEqual([]);
  });

  test('5xx, 429 and `reconnect` are followed by another attempt', async () => {
    const states: ConnectionState[] = [];
    const { client, requests } = await serve(
      refuse(503, 'unavailable'),
      refuse(429, 'rate_limited'),
      (_, response) => void stream(response).end(`${frame(LOG[0]!)}event: reconnect\ndata: {"after":1}\n\n`),
      refuse(502, 'x'),
      whole,
    );
    expect(await collect(client, { onState: (state) => states.push(state) })).toEqual(LOG);
    expect(requests).toHaveLength(5);
    expect(states).toEqual(['connecting', 'reconnecting', 'connected', 'reconnecting', 'connected', 'closed']);
  });

  test('other 4xx are final', async () => {
    const { client, requests } = await serve(refuse(404, 'not_found'));
    const error = await collect(client).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 404, code: 'not_found', message: 'No.', hint: 'Do.' });
    expect(requests).toHaveLength(1);
  });

  test('an `error` event is final', async () => {
    const data = JSON.stringify({ code: 'reader_too_slow', message: 'Too slow.' });
    const { client } = await serve((_, response) => void stream(response).end(`event: error\ndata: ${data}\n\n`));
    await expect(collect(client)).rejects.toMatchObject({ code: 'reader_too_slow' });
  });

  test('a connection that is silent, before or after its first byte, is replaced', async () => {
    const { client, requests } = await serve(
      () => {},
      (_, response) => void stream(response).write(frame(LOG[0]!)),
      whole,
    );
    expect(await collect(client, { silenceMs: 100 })).toEqual(LOG);
    expect(requests).toHaveLength(3);
  });

  test('an abort ends the iteration without an error', async () => {
    const abort = new AbortController();
    const { client } = await serve((_, response) => void stream(response).write(frame(LOG[0]!)));
    setTimeout(() => abort.abort(), 50);
    expect(await collect(client, { signal: abort.signal })).toEqual([LOG[0]]);
  });

  test('`break` closes the connection', async () => {
    const { client } = await serve((request, response) => {
      request.socket.once('close', () => (closed = true));
      stream(response).write(frame(LOG[0]!));
    });
    let closed = false;
    for await (const event of client.executions.follow('exe_1')) if (event.type === 'started') break;
    await expect.poll(() => closed).toBe(true);
  });
});

test('a start is sent again with the same key', async () => {
  const keys: unknown[] = [];
  const note = (request: IncomingMessage): unknown => keys.push(request.headers['idempotency-key']);
  const { client } = await serve(
    (request, response) => (note(request), response.destroy()),
    (request, response) => (note(request), refuse(503, 'unavailable')(request, response)),
    (request, response) => (note(request), void response.writeHead(201).end('{"id":"exe_1"}')),
  );
  expect(await client.executions.start({ shell: 'true' })).toEqual({ id: 'exe_1' });
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
});
