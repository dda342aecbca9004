// A real server for a test: started on a free port, ended with its worker and sessions.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import WebSocket from 'ws';
import { Headwater } from '../src/index.js';

/** The binary under test. */
function binary(): string {
  const path = process.env['HEADWATER_BIN'];
  if (!path) throw new Error('HEADWATER_BIN is not set: the path of the binary to test.');
  return path;
}

export class Server {
  #process: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    public url = '',
    public token = '',
  ) {}

  static async start(): Promise<Server> {
    const server = new Server(await mkdtemp(join(tmpdir(), 'hw-sdk-')));
    await server.#serve('127.0.0.1:0');
    return server;
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  client(): Headwater {
    // Node 20 has no WebSocket of its own.
    const Socket = WebSocket as unknown as typeof globalThis.WebSocket;
    return new Headwater({ baseUrl: this.url, token: this.token, WebSocket: Socket });
  }

  /** Kills the server with -9. Its worker and the programs keep running. */
  async kill(): Promise<void> {
    const gone = once(this.#process!, 'exit');
    this.#process!.kill('SIGKILL');
    await gone;
  }

  /** Starts the server again on the same address. */
  restart(): Promise<void> {
    return this.#serve(new URL(this.url).host);
  }

  async stop(): Promise<void> {
    const gone = this.#process!.exitCode === null ? once(this.#process!, 'exit') : undefined;
    await promisify(execFile)(binary(), ['stop', '--end-sessions', '--yes', '--data', this.data]);
    await gone;
    await rm(this.folder, { recursive: true, force: true });
  }

  async #serve(listen: string): Promise<void> {
    const child = spawn(binary(), ['serve', '--listen', listen, '--data', this.data], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, HEADWATER_LOG: 'warn' },
    });
    this.#process = child;
    await new Promise<void>((ready, failed) => {
      let said = '';
      child.stdout.on('data', (text: Buffer) => (said += String(text)).includes('is listening on') && ready());
      child.once('exit', (code) => failed(new Error(`the server ended with ${code}`)));
    });
    const { address } = JSON.parse(await readFile(join(this.data, 'server.json'), 'utf8')) as { address: string };
    this.url = `http://${address}`;
    this.token = (await readFile(join(this.data, 'token'), 'utf8')).trim();
  }
}
