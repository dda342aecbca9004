// The client against the real server.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as headwater from '../src/index.js';
import { ApiError, type ConnectionState, type ExecutionEvent, type Headwater, type ServerFrame } from '../src/index.js';
import { Server } from './server.js';

let server: Server;
let client: Headwater;
beforeAll(async () => {
  server = await Server.start();
  client = server.client();
});
afterAll(() => server?.stop());

const text = (bytes: Uint8Array[]): string => new TextDecoder().decode(headwater.concat(bytes));

describe('executions', () => {
  test('run returns what a program wrote and how it ended', async () => {
    const seen: ExecutionEvent[] = [];
    const result = await client.run({ shell: 'echo out; echo err >&2; exit 3' }, { onEvent: (e) => seen.push(e) });
    expect(result).toMatchObject({
      ok: false,
      reason: 'exited',
      code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      output: '',
    });
    expect(seen.map((event) => event.type).sort()).toEqual(['exited', 'started', 'stderr', 'stdout']);
    const missing = await client.run({ argv: ['pyton'] });
    expect(missing).toMatchObject({ ok: false, reason: 'setup_failed', code: undefined });
    expect(missing.message).toContain('pyton');
  });

  test('bytes that are not text arrive as they are', async () => {
    const { id } = await client.executions.start({ shell: "printf 'a\\377\\303'; sleep 0.1; printf '\\274'" });
    const bytes: Uint8Array[] = [];
    for await (const event of client.executions.follow(id))
      if (event.type === 'stdout') bytes.push(headwater.outputBytes(event));
    expect([...headwater.concat(bytes)]).toEqual([0x61, 0xff, 0xc3, 0xbc]);
    const raw = await client.executions.output(id, { stream: 'stdout' });
    expect([...new Uint8Array(await raw.arrayBuffer())]).toEqual([0x61, 0xff, 0xc3, 0xbc]);
  });

  test('the same key starts one execution, and another request with it is refused', async () => {
    const call = { idempotencyKey: 'the-key' };
    const [a, b] = await Promise.all([
      client.executions.start({ shell: 'echo once' }, call),
      client.executions.start({ shell: 'echo once' }, call),
    ]);
    expect(b.id).toBe(a.id);
    await expect(client.executions.start({ shell: 'echo twice' }, call)).rejects.toMatchObject({ code: 'key_reused' });
  });

  test('a followed log continues after any event, and ends at its end', async () => {
    const { id } = await client.executions.start({ shell: 'for i in 1 2 3; do echo $i; sleep 0.05; done' });
    const all: ExecutionEvent[] = [];
    for await (const event of client.executions.follow(id, { batchMs: 0 })) all.push(event);
    expect(all.at(-1)?.type).toBe('closed');
    // Output that is read later comes in fewer events: only its text is the same.
    const stdout = (events: ExecutionEvent[]): string =>
      events.map((event) => (event.type === 'stdout' ? event.text : '')).join('');
    expect(stdout(all)).toBe('1\n2\n3\n');
    for (const { seq } of all) {
      const rest: ExecutionEvent[] = [];
      for await (const event of client.executions.follow(id, { after: seq })) rest.push(event);
      expect(stdout(rest)).toBe(stdout(all.filter((event) => event.seq > seq)));
      expect(rest.filter((event) => event.seq <= seq)).toEqual([]);
      expect(rest.at(-1)?.type).toBe(seq === all.at(-1)?.seq ? undefined : 'closed');
    }
    const exited = all.find((event) => event.type === 'exited')!;
    for await (const event of client.executions.follow(id, { after: exited.seq, until: 'exited' })) {
      throw new Error(`unexpected ${event.type}`);
    }
  });

  test('a tail begins with a gap', async () => {
    const { id } = await client.run({ shell: 'yes 0123456 | head -c 100000' });
    const events: ExecutionEvent[] = [];
    for await (const event of client.executions.follow(id, { tail: 1000 })) events.push(event);
    const gap = events.find((event) => event.type === 'gap')!;
    expect(gap).toMatchObject({ type: 'gap', stream: 'stdout', from_byte: 0 });
    const bytes = events.flatMap((event) => (event.type === 'stdout' ? [headwater.outputBytes(event).length] : []));
    expect(gap.to_byte + bytes.reduce((a, b) => a + b, 0)).toBe(100_000);
  });

  test('cancel, list, processes, recording, remove', async () => {
    const { id } = await client.executions.start({ argv: ['sleep', '60'] });
    expect((await client.executions.processes(id)).processes.length).toBeGreaterThan(0);
    await client.executions.cancel(id);
    const ended = await client.executions.get(id, { wait: '30s', until: 'closed' });
    expect(ended.exit?.reason).toBe('cancelled');
    expect((await client.executions.list({ limit: 100 })).items.map((item) => item.id)).toContain(id);
    expect(await client.executions.recording(id)).toContain('"version":3');
    await client.executions.remove(id);
    await expect(client.executions.get(id)).rejects.toMatchObject({ status: 404, code: 'not_found' });
  });

  test('an error has its code, its message, its hint and the request id', async () => {
    const error = await client.executions.start({ language: 'klingon', code: 'x' }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 400, code: 'invalid_request', requestId: expect.any(String) });
    const stranger = new headwater.Headwater({ baseUrl: server.url, token: 'hw_wrong' });
    await expect(stranger.me()).rejects.toMatchObject({ status: 401, code: 'unauthenticated' });
  });

  test('a server that is killed with -9 and started again loses and repeats nothing', async () => {
    const states: ConnectionState[] = [];
    const { id } = await client.executions.start({ shell: 'for i in $(seq 1 300); do echo line $i; sleep 0.01; done' });
    let written = '';
    let last = 0;
    let restarted: Promise<void> | undefined;
    for await (const event of client.executions.follow(id, { batchMs: 0, onState: (s) => states.push(s) })) {
      expect(event.seq).toBeGreaterThan(last);
      last = event.seq;
      if (event.type === 'stdout') written += headwater.outputText(event);
      if (written.includes('line 50\n')) restarted ??= server.kill().then(() => server.restart());
    }
    await restarted;
    expect(written).toBe(Array.from({ length: 300 }, (_, i) => `line ${i + 1}\n`).join(''));
    expect(states).toEqual(['connecting', 'connected', 'reconnecting', 'connected', 'closed']);
  });
});

describe('sockets', () => {
  test('attach sends input and receives bytes', async () => {
    const { id } = await client.executions.start({ argv: ['cat'], stdin: 'open' });
    const frames: ServerFrame[] = [];
    const attachment = client.executions.attach(id);
    attachment.write('grüße\n');
    attachment.write(Uint8Array.of(0, 255));
    attachment.end();
    for await (const frame of attachment) frames.push(frame);
    expect([...headwater.concat(frames.filter(headwater.isOutput).map((frame) => frame.bytes))]).toEqual([
      ...new TextEncoder().encode('grüße\n'),
      0,
      255,
    ]);
    expect(frames.at(-1)?.type).toBe('closed');
  });

  test('a small window and a server killed with -9 divide events, and lose nothing', async () => {
    const content = randomBytes(300_000).toString('hex');
    const session = await client.sessions.create();
    await client.files.write(session.id, 'data', content);
    const { id } = await client.executions.startIn(session.id, {
      shell: 'head -c 300000 data; sleep 2; tail -c +300001 data',
    });
    const attachment = client.executions.attach(id, { windowBytes: 1000 });
    let written = '';
    let restarted: Promise<void> | undefined;
    for await (const frame of attachment) {
      if (headwater.isOutput(frame)) written += text([frame.bytes]);
      if (written.length > 100_500) restarted ??= server.kill().then(() => server.restart());
    }
    await restarted;
    expect(written.length).toBe(content.length);
    expect(written === content).toBe(true);
    await client.sessions.end(session.id);
  });

  test('closing an attachment ends the iteration, and the program keeps running', async () => {
    const { id } = await client.executions.start({ argv: ['sleep', '60'] });
    const attachment = client.executions.attach(id);
    const types: string[] = [];
    for await (const frame of attachment) {
      types.push(frame.type);
      if (frame.type === 'started') attachment.close();
    }
    expect(types).toEqual(['started']);
    expect(() => attachment.write('x')).toThrow('closed');
    expect((await client.executions.get(id)).state).toBe('running');
    await client.executions.cancel(id);
  });

  test('a socket for an execution that does not exist fails with the reason', async () => {
    const attachment = client.executions.attach(`exe_${'0'.repeat(32)}`);
    await expect(attachment[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a terminal has its screen again after a restart of the server', async () => {
    const session = await client.sessions.create();
    const states: ConnectionState[] = [];
    const terminal = client.terminals.open(session.id, { rows: 24, cols: 80, onState: (s) => states.push(s) });
    let seen = '';
    terminal.write('stty -echo; echo on$((1 + 0))e\r');
    let step = 0;
    for await (const frame of terminal) {
      if (headwater.isOutput(frame)) seen += text([frame.bytes]);
      if (step === 0 && seen.includes('on1e')) {
        step = 1;
        await server.kill();
        await server.restart();
        terminal.resize(30, 100);
        terminal.write('echo tw$((1 + 1))o; stty size\r');
      }
      if (step === 1 && seen.includes('tw2o') && seen.includes('30 100')) break;
    }
    expect(states).toEqual(['connecting', 'connected', 'reconnecting', 'connected', 'closed']);
    expect((await client.terminals.list(session.id)).terminals.map((item) => item.name)).toEqual(['main']);
    await client.sessions.end(session.id);
  });
});

describe('sessions and files', () => {
  test('files: write, read, list, move, conditions, search', async () => {
    const { id } = await client.sessions.create({ name: 'files' });
    const { files } = client;
    const made = await files.write(id, '/workspace/src/ü b.txt', 'one\ntwo\n', { create: true });
    expect(made.path).toBe('src/ü b.txt');
    expect(await files.readText(id, 'src/ü b.txt')).toBe('one\ntwo\n');
    await expect(files.write(id, made.path, 'x', { create: true })).rejects.toMatchObject({ status: 409 });
    await files.write(id, made.path, 'three\n', { append: true, ifMatch: made.etag });
    await expect(files.write(id, made.path, 'x', { ifMatch: made.etag })).rejects.toMatchObject({ code: 'changed' });
    await files.mkdir(id, 'empty');
    await files.copy(id, made.path, 'copy.txt');
    await files.move(id, 'copy.txt', 'moved.txt');
    const { items } = await files.list(id, { depth: 5 });
    expect(items.map((item) => item.path)).toEqual(['empty', 'moved.txt', 'src', 'src/ü b.txt']);
    const found = await files.search(id, { content: 'thr.e' });
    expect(found.items.map((match) => [match.path, match.line])).toEqual([
      ['moved.txt', 3],
      ['src/ü b.txt', 3],
    ]);
    const archive = await files.archive(id, { format: 'tar.gz' });
    await files.remove(id, 'src', { recursive: true });
    await files.unpack(id, await archive.blob(), { format: 'tar.gz' });
    expect((await files.stat(id, made.path)).size).toBe(14);
    await client.sessions.end('files');
  });

  test('a watch reports changes, and says to read again after a restart', async () => {
    const { id } = await client.sessions.create();
    const seen: string[] = [];
    for await (const change of client.files.watch(id, { recursive: true })) {
      seen.push(`${change.type} ${change.path}`);
      if (change.type === 'ready') await client.files.write(id, 'a.txt', 'a');
      if (change.type === 'created') void server.kill().then(() => server.restart());
      if (change.type === 'rescan') await client.sessions.end(id);
    }
    expect(seen[0]).toMatch(/^ready/);
    expect(seen).toContain('created a.txt');
    expect(seen.some((change) => change.startsWith('rescan'))).toBe(true);
    expect(seen.at(-1)).toMatch(/^ended/);
  });

  test('sessions: update, fork, snapshot, hibernate, usage, members, shares', async () => {
    const { sessions, files } = client;
    const { id } = await sessions.create({ env: { A: '1' } });
    expect((await sessions.update(id, { name: 'renamed' })).name).toBe('renamed');
    await files.write(id, 'a', '1');
    const snapshot = await sessions.snapshot(id, 'before');
    await files.write(id, 'a', '2');
    await sessions.restore(id, snapshot.id);
    expect(await files.readText(id, 'a')).toBe('1');
    const copy = await sessions.fork(id, { name: 'copy' });
    expect(await files.readText(copy.id, 'a')).toBe('1');
    expect((await sessions.usage(id)).state).toBe('ready');
    expect((await sessions.hibernate(copy.id)).state).toBe('hibernated');
    const link = await sessions.share(id, { access: 'read' });
    const guest = new headwater.Headwater({ baseUrl: server.url, token: link.token! });
    expect(await guest.files.readText(id, 'a')).toBe('1');
    await expect(guest.files.write(id, 'a', '3')).rejects.toMatchObject({ status: 403 });
    await sessions.revokeShare(id, link.id);
    expect((await sessions.members(id)).items).toBeDefined();
    for (const session of [id, copy.id]) await sessions.end(session);
    expect((await client.languages()).find((language) => language.name === 'python')?.available).toBe(true);
    expect((await client.info()).version).toBeTruthy();
    expect((await client.me()).role).toBe('admin');
    expect((await client.usage.get()).owner).toBeTruthy();
    expect((await client.audit.list({ limit: 1 })).items).toHaveLength(1);
  });

  test('the feed of a session has the events of all its executions', async () => {
    const { id } = await client.sessions.create();
    const first = await client.run({ shell: 'echo 1' }, { session: id });
    const second = await client.run({ shell: 'echo 2' }, { session: id });
    let written = '';
    for await (const { event } of client.sessions.events(id)) {
      if (event.type === 'stdout') written += headwater.outputText(event);
      if (written === '1\n2\n') break;
    }
    expect(first.id).not.toBe(second.id);
    await client.sessions.end(id);
  });
});

describe("the editor's functions", () => {
  const finished = async (token: string, id: string): Promise<headwater.ExecutionStatus> => {
    for (;;) {
      const status = await headwater.getExecutionStatus(token, id);
      if (status.status === 'completed' || status.status === 'failed') return status;
      await sleep(50);
    }
  };

  test('save, read and list files; run Python; build and run C++; open a terminal', async () => {
    const { token } = server;
    headwater.setServer(server.url);
    await client.sessions.create({ name: 'session-1' });
    await headwater.saveFile(
      token,
      'session-1',
      '/src/main.cpp',
      '#include <cstdio>\nint main(int c, char **v) { puts(v[c - 1]); }\n',
    );
    expect((await headwater.readFile(token, 'session-1', '/src/main.cpp')).content).toContain('cstdio');
    expect((await headwater.listFiles(token, 'session-1', '/src')).files.map((file) => file.name)).toEqual([
      'main.cpp',
    ]);

    const python = await headwater.executePython(
      token,
      'session-1',
      'import sys; print(sys.argv[1:])',
      '/src/main.py',
      ['a'],
    );
    expect(await finished(token, python.execution_id)).toMatchObject({
      status: 'completed',
      exit_code: 0,
      stdout: "['a']\n",
    });

    const build = await headwater.buildCpp(token, 'session-1', ['/src/main.cpp'], '/workspace/build/main', 'g++', [
      '-std=c++17',
    ]);
    expect(build).toMatchObject({ status: 'success', artifacts: ['/workspace/build/main'] });
    const binary = await headwater.executeBinary(token, 'session-1', '/workspace/build/main', ['--verbose']);
    expect(await finished(token, binary.execution_id)).toMatchObject({ status: 'completed', stdout: '--verbose\n' });

    globalThis.WebSocket ??= WebSocket as unknown as typeof globalThis.WebSocket;
    const socket = headwater.createTerminalWebSocket(token, 'session-1');
    socket.onopen = () => socket.send(JSON.stringify({ type: 'command', command: 'echo an$((40 + 2))swer' }));
    await new Promise<void>((resolve, reject) => {
      let shown = '';
      socket.onmessage = ({ data }: MessageEvent<string>) => {
        const message = JSON.parse(data) as { type: string; content?: string };
        if (message.type === 'output') shown += message.content;
        if (shown.includes('an42swer')) resolve();
      };
      socket.onerror = () => reject(new Error('the socket failed'));
    });
    socket.close();
    await client.sessions.end('session-1');
  });
});

test('a session starts from a template, and an execution is run again', async () => {
  expect((await client.templates()).map(({ name }) => name)).toContain('python');
  const { id: session } = await client.sessions.create({ template: 'python' });
  const first = await client.run({ shell: 'echo "$A"; ls', env: { A: 'kept' } }, { session });
  expect(first.stdout).toBe('kept\nmain.py\ntest_main.py\n');
  const { id } = await client.executions.rerun(first.id);
  await client.executions.get(id, { wait: '30s', until: 'closed' });
  expect(await (await client.executions.output(id, { stream: 'stdout' })).text()).toBe(first.stdout);
  await client.sessions.end(session);
});
