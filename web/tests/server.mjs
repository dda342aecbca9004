// Starts the real binary with a data folder of its own, for tests and pictures.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startFront } from './front.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** The binary: HEADWATER_BIN, or the debug build of this checkout. */
export const binary = resolve(process.env.HEADWATER_BIN ?? join(root, 'target/debug/headwater'));

/** The environment without what would point the binary at another server. */
function cleanEnv() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('HEADWATER_')));
}

export class TestServer {
  #child = null;
  #front = null;
  #listen = '127.0.0.1:0';
  #log = '';
  #config = null;

  /** The address for browsers. */
  url = '';
  /** The address of the server itself. */
  direct = '';
  token = '';
  data = '';

  /** Starts a server with an empty data folder. `config` is the text of a configuration. */
  static async create({ config } = {}) {
    const server = new TestServer();
    server.data = await mkdtemp(join(tmpdir(), 'hw-e2e-'));
    if (config !== undefined) {
      server.#config = join(server.data, 'e2e.toml');
      await writeFile(server.#config, config);
    }
    await server.start();
    server.token = (await readFile(join(server.data, 'token'), 'utf8')).trim();
    const answer = await fetch(server.direct, { headers: { accept: 'text/html' } });
    const hasApp = (await answer.text()).includes('id="app"');
    if (hasApp && process.env.HEADWATER_DIST === undefined) {
      server.url = server.direct;
    } else {
      // The policy of the server decides what may run, also for a build that the binary does not have.
      const policy = hasApp ? answer.headers.get('content-security-policy') : null;
      server.#front = await startFront(() => server.direct, policy ?? undefined);
      server.url = server.#front.url;
    }
    return server;
  }

  /** Starts the server; again on the same port after `stop` or `kill`. */
  async start() {
    const env = { ...cleanEnv(), HEADWATER_LOG: 'warn' };
    const args = ['serve', '--listen', this.#listen, '--data', this.data, '--requests-per-second', '0'];
    if (this.#config) args.push('--config', this.#config);
    const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.direct = await new Promise((found, failed) => {
      let text = '';
      const read = (chunk) => {
        text += chunk;
        this.#log = (this.#log + chunk).slice(-20_000);
        const match = /listening on (http:\/\/[\d.:]+)/.exec(text);
        if (match) found(match[1]);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.on('error', failed);
      child.on('exit', (code) => failed(new Error(`${binary} exited with ${code}:\n${text}`)));
    });
    this.#listen = new URL(this.direct).host;
    for (let attempt = 0; attempt < 200; attempt += 1) {
      const answer = await fetch(`${this.direct}/readyz`).catch(() => null);
      if (answer?.ok) return;
      await new Promise((resolved) => setTimeout(resolved, 50));
    }
    throw new Error(`the server is not ready:\n${this.#log}`);
  }

  /** Ends the server with a signal; the worker and its programs go on. */
  async stop(signal = 'SIGTERM') {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolved) => child.once('exit', resolved));
    child.kill(signal);
    await ended;
  }

  /** Runs a command of the binary on this server's data folder, such as `user add`. Returns what it prints. */
  async command(args, input) {
    const promise = run(binary, [...args, '--data', this.data], { env: cleanEnv() });
    promise.child.stdin.end(input ?? '');
    return (await promise).stdout;
  }

  /** Calls the API as the operator. */
  async api(method, path, body) {
    const response = await fetch(this.direct + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** Ends everything that was started and removes the data folder. */
  async close() {
    await this.command(['stop', '--end-sessions', '--yes']).catch(() => undefined);
    await this.stop();
    await this.#front?.close();
    await rm(this.data, { recursive: true, force: true }).catch(() => undefined);
  }
}
