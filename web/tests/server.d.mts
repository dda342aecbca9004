// The types of server.mjs.
export const binary: string;

export class TestServer {
  readonly url: string;
  readonly direct: string;
  readonly token: string;
  readonly data: string;
  static create(options?: { config?: string }): Promise<TestServer>;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  command(args: string[], input?: string): Promise<string>;
  api<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  close(): Promise<void>;
}
