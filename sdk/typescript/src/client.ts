// The client: one object for one server and one credential.
import { concat, outputBytes } from './bytes.js';
import * as groups from './groups/index.js';
import { Http, type HeadwaterOptions, type RequestOptions } from './http.js';
import type {
  Caller,
  DoctorReport,
  ExecutionEvent,
  ExitedEvent,
  Language,
  Schemas,
  ServerInfo,
  Setting,
  SignedIn,
  StartRequest,
  Template,
} from './types.js';

export interface RunOptions {
  /** The session to run in: its id, a prefix of it, or its name. A temporary one if absent. */
  session?: string;
  /** Called with each event as it happens. */
  onEvent?: (event: ExecutionEvent) => void;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** How a program ended, and everything that it wrote. */
export interface RunResult {
  id: string;
  /** Whether it exited by itself, with the code 0. */
  ok: boolean;
  reason: ExitedEvent['reason'];
  code: number | undefined;
  message: string | undefined;
  durationMs: number;
  stdout: string;
  stderr: string;
  /** The output of a terminal, or of both streams with `merge_output`. */
  output: string;
}

export class Headwater {
  readonly http: Http;
  readonly sessions: groups.Sessions;
  readonly executions: groups.Executions;
  readonly files: groups.Files;
  readonly builds: groups.Builds;
  readonly terminals: groups.Terminals;
  readonly packages: groups.Packages;
  readonly users: groups.Users;
  readonly tokens: groups.Tokens;
  readonly audit: groups.Audit;
  readonly usage: groups.UsageGroup;

  constructor(options: HeadwaterOptions = {}) {
    const http = (this.http = new Http(options));
    this.sessions = new groups.Sessions(http);
    this.executions = new groups.Executions(http);
    this.files = new groups.Files(http);
    this.builds = new groups.Builds(http);
    this.terminals = new groups.Terminals(http);
    this.packages = new groups.Packages(http);
    this.users = new groups.Users(http);
    this.tokens = new groups.Tokens(http);
    this.audit = new groups.Audit(http);
    this.usage = new groups.UsageGroup(http);
  }

  /** Sends any request; returns the JSON of the response. */
  request<T>(method: string, path: string, options?: RequestOptions): Promise<T> {
    return this.http.request(method, path, options);
  }

  /** Sends any request; returns the response, which is a success. */
  raw(method: string, path: string, options?: RequestOptions): Promise<Response> {
    return this.http.raw(method, path, options);
  }

  /** The address of a path, for links and downloads. */
  url(path: string, query?: object): string {
    return this.http.url(path, query);
  }

  async languages(): Promise<Language[]> {
    return (await this.request<Schemas['LanguageList']>('GET', '/v1/languages')).languages;
  }

  /** What a session can start from: the `template` of `sessions.create`. */
  async templates(): Promise<Template[]> {
    return (await this.request<Schemas['TemplateList']>('GET', '/v1/templates')).items;
  }

  /** The caller and its rights. */
  me(): Promise<Caller> {
    return this.request('GET', '/v1/me');
  }

  info(): Promise<ServerInfo> {
    return this.request('GET', '/v1/info');
  }

  /** What the host can isolate and limit, as `headwater doctor` finds it. Takes some seconds. For administrators. */
  doctor(call?: groups.Call): Promise<DoctorReport> {
    return this.request('GET', '/v1/doctor', call);
  }

  /** All settings with their values, without secrets. For administrators. */
  async settings(call?: groups.Call): Promise<Setting[]> {
    return (await this.request<Schemas['Settings']>('GET', '/v1/settings', call)).items;
  }

  /** Signs in with a password. With `cookie`, a browser gets a cookie in place of tokens. */
  signIn(body: Schemas['SignInRequest']): Promise<SignedIn> {
    return this.request('POST', '/v1/login', { body });
  }

  signOut(everywhere = false): Promise<void> {
    return this.request('POST', '/v1/logout', { body: { everywhere } });
  }

  /** Runs a program and returns its output when it has exited. It is not limited in size: it is kept in memory. */
  async run(request: StartRequest, options: RunOptions = {}): Promise<RunResult> {
    const { session, onEvent, signal, idempotencyKey } = options;
    const call = { signal, idempotencyKey, lossless: true };
    const { id } = await (session === undefined
      ? this.executions.start(request, call)
      : this.executions.startIn(session, request, call));
    const written = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[], output: [] as Uint8Array[] };
    for await (const event of this.executions.follow(id, { until: 'exited', lossless: true, batchMs: 0, signal })) {
      onEvent?.(event);
      if (event.type === 'stdout' || event.type === 'stderr' || event.type === 'output') {
        written[event.type].push(outputBytes(event));
      } else if (event.type === 'exited') {
        const text = (parts: Uint8Array[]): string => new TextDecoder().decode(concat(parts));
        return {
          id,
          ok: event.reason === 'exited' && event.code === 0,
          reason: event.reason,
          code: event.code ?? undefined,
          message: event.message ?? undefined,
          durationMs: event.duration_ms,
          stdout: text(written.stdout),
          stderr: text(written.stderr),
          output: text(written.output),
        };
      }
    }
    signal?.throwIfAborted();
    throw new Error(`The log of ${id} ended without the end of the program.`);
  }
}
