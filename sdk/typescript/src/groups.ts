// The groups of the client: one method for each route, typed by the OpenAPI document.
import { attach, openTerminal, type Attachment, type AttachOptions, type TerminalOptions } from './attach.js';
import { followExecution, followFeed, watchFiles } from './follow.js';
import type { FeedEvent, FollowOptions, WatchOptions } from './follow.js';
import { route, type Http, type RawBody } from './http.js';
import type { StreamOptions } from './stream.js';
import type * as t from './types.js';

interface Call {
  signal?: AbortSignal;
}
interface KeyedCall extends Call {
  /** Requests with the same key have one effect. A new key if absent. */
  idempotencyKey?: string;
}

export class Sessions {
  constructor(private readonly http: Http) {}

  list(query?: t.Query<'listSessions'>, call?: Call): Promise<t.SessionPage> {
    return this.http.request('GET', '/v1/sessions', { query, ...call });
  }
  get(session: string, call?: Call): Promise<t.Session> {
    return this.http.request('GET', route`/v1/sessions/${session}`, call);
  }
  create(body: t.SessionRequest = {}, call?: KeyedCall): Promise<t.Session> {
    return this.http.once('/v1/sessions', { body, ...call });
  }
  update(session: string, body: t.SessionPatch, call?: Call): Promise<t.Session> {
    return this.http.request('PATCH', route`/v1/sessions/${session}`, { body, ...call });
  }
  /** Ends a session and deletes its workspace; with `keep_logs`, its executions and their logs stay. */
  end(session: string, query?: t.Query<'deleteSession'>, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/sessions/${session}`, { query, ...call });
  }
  fork(session: string, body: t.ForkRequest = {}, call?: Call): Promise<t.Session> {
    return this.http.request('POST', route`/v1/sessions/${session}/fork`, { body, ...call });
  }
  hibernate(session: string, call?: Call): Promise<t.Session> {
    return this.http.request('POST', route`/v1/sessions/${session}/hibernate`, call);
  }
  usage(session: string, call?: Call): Promise<t.SessionUsage> {
    return this.http.request('GET', route`/v1/sessions/${session}/usage`, call);
  }
  /** The events of all executions of a session, as they start, print and end. */
  events(
    session: string,
    options?: StreamOptions & { after?: string },
  ): AsyncGenerator<{ id: string | undefined; event: FeedEvent }, void> {
    return followFeed(this.http, route`/v1/sessions/${session}/events`, options);
  }

  members(session: string, call?: Call): Promise<t.Schemas['MemberList']> {
    return this.http.request('GET', route`/v1/sessions/${session}/members`, call);
  }
  setMember(session: string, user: string, role: t.Schemas['MemberRequest']['role'], call?: Call): Promise<t.Member> {
    return this.http.request('PUT', route`/v1/sessions/${session}/members/${user}`, { body: { role }, ...call });
  }
  removeMember(session: string, user: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/sessions/${session}/members/${user}`, call);
  }
  shares(session: string, call?: Call): Promise<t.Schemas['ShareList']> {
    return this.http.request('GET', route`/v1/sessions/${session}/shares`, call);
  }
  share(session: string, body: t.ShareRequest, call?: Call): Promise<t.Share> {
    return this.http.request('POST', route`/v1/sessions/${session}/shares`, { body, ...call });
  }
  revokeShare(session: string, share: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/sessions/${session}/shares/${share}`, call);
  }

  snapshots(session: string, call?: Call): Promise<t.Schemas['SnapshotList']> {
    return this.http.request('GET', route`/v1/sessions/${session}/snapshots`, call);
  }
  snapshot(session: string, name?: string, call?: Call): Promise<t.Snapshot> {
    return this.http.request('POST', route`/v1/sessions/${session}/snapshots`, { body: { name }, ...call });
  }
  restore(session: string, snapshot: string, call?: Call): Promise<t.Snapshot> {
    return this.http.request('POST', route`/v1/sessions/${session}/snapshots/${snapshot}/restore`, call);
  }
  removeSnapshot(session: string, snapshot: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/sessions/${session}/snapshots/${snapshot}`, call);
  }
  toolCalls(
    session: string,
    query?: t.Query<'listToolCalls'>,
    call?: Call,
  ): Promise<t.Schemas['RecordedToolCallPage']> {
    return this.http.request('GET', route`/v1/sessions/${session}/tool-calls`, { query, ...call });
  }
}

export class Executions {
  constructor(private readonly http: Http) {}

  list(query?: t.Query<'listExecutions'>, call?: Call): Promise<t.ExecutionPage> {
    return this.http.request('GET', '/v1/executions', { query, ...call });
  }
  /** Returns an execution: at once, or with `wait` (`10s`) when it has ended. */
  get(id: string, query?: t.Query<'getExecution'>, call?: Call): Promise<t.Execution> {
    return this.http.request('GET', route`/v1/executions/${id}`, { query, ...call });
  }
  /** Starts an execution in a session of its own, which ends with it. */
  start(body: t.StartRequest, call?: KeyedCall & { lossless?: boolean }): Promise<t.Execution> {
    const { lossless, ...rest } = call ?? {};
    return this.http.once('/v1/executions', { body, query: { lossless }, ...rest });
  }
  /** Starts an execution in a session. */
  startIn(session: string, body: t.StartRequest, call?: KeyedCall & { lossless?: boolean }): Promise<t.Execution> {
    const { lossless, ...rest } = call ?? {};
    return this.http.once(route`/v1/sessions/${session}/executions`, { body, query: { lossless }, ...rest });
  }
  follow(id: string, options?: FollowOptions): AsyncGenerator<t.ExecutionEvent, void> {
    return followExecution(this.http, id, options);
  }
  /** Attaches by WebSocket: receives bytes, sends input. */
  attach(id: string, options?: AttachOptions): Attachment {
    return attach(this.http, id, options);
  }
  /** The raw output, exactly the bytes that are kept. `response.body` is a stream. */
  output(id: string, query?: t.Query<'getExecutionOutput'>, call?: Call & { range?: string }): Promise<Response> {
    const { range, signal } = call ?? {};
    return this.http.raw('GET', route`/v1/executions/${id}/output`, { query, signal, headers: { range } });
  }
  /** Writes to standard input. With `offset` the same request can be sent again: bytes that arrived are skipped. */
  write(id: string, input: RawBody, query?: t.Query<'writeExecutionInput'>, call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/stdin`, { body: input, query, ...call });
  }
  cancel(id: string, body: Partial<t.Schemas['CancelRequest']> = {}, call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/cancel`, { body, ...call });
  }
  signal(id: string, body: t.Schemas['SignalRequest'], call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/signal`, { body, ...call });
  }
  resize(id: string, body: t.Schemas['ResizeRequest'], call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/resize`, { body, ...call });
  }
  processes(id: string, call?: Call): Promise<t.Schemas['ProcessList']> {
    return this.http.request('GET', route`/v1/executions/${id}/processes`, call);
  }
  /** A recording in the format asciicast v3. */
  async recording(id: string, call?: Call): Promise<string> {
    return (await this.http.raw('GET', route`/v1/executions/${id}/recording`, call)).text();
  }
  /** Removes a closed execution and its log. */
  remove(id: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/executions/${id}`, call);
  }
  /** Removes logs of ended executions. */
  prune(body: t.Schemas['PruneRequest'], call?: Call): Promise<t.Schemas['PrunedLogs']> {
    return this.http.request('POST', '/v1/prune', { body, ...call });
  }
}

export interface WriteOptions extends Call {
  /** Write only if the file is in this state (its `etag`; `*`: any). Otherwise `ApiError` with the code `changed`. */
  ifMatch?: string;
  /** Write only if nothing exists at the path. Otherwise `ApiError` with the status 409. */
  create?: boolean;
  append?: boolean;
  offset?: number;
  /** The mode, such as `755`. */
  permissions?: string;
}

export class Files {
  constructor(private readonly http: Http) {}

  list(session: string, query?: t.Query<'listFiles'>, call?: Call): Promise<t.FilePage> {
    return this.http.request('GET', route`/v1/sessions/${session}/files`, { query, ...call });
  }
  stat(session: string, path: string, call?: Call): Promise<t.FileEntry> {
    return this.http.request('GET', route`/v1/sessions/${session}/files/stat`, { query: { path }, ...call });
  }
  /** The content of a file as a response, with the header `etag`. */
  content(session: string, path: string, call?: Call & { headers?: Record<string, string> }): Promise<Response> {
    return this.http.raw('GET', route`/v1/sessions/${session}/files/content`, { query: { path }, ...call });
  }
  /** The bytes of a file. */
  async read(session: string, path: string, call?: Call): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await (await this.content(session, path, call)).arrayBuffer());
  }
  async readText(session: string, path: string, call?: Call): Promise<string> {
    return (await this.content(session, path, call)).text();
  }
  /** Replaces a file atomically. Missing folders are created. */
  write(session: string, path: string, content: RawBody, options: WriteOptions = {}): Promise<t.FileEntry> {
    const { ifMatch, create, append, offset, permissions, signal } = options;
    return this.http.request('PUT', route`/v1/sessions/${session}/files/content`, {
      query: { path, mode: append ? 'append' : undefined, offset, permissions },
      headers: { 'If-Match': ifMatch, 'If-None-Match': create ? '*' : undefined },
      body: content,
      signal,
    });
  }
  mkdir(session: string, path: string, call?: Call): Promise<t.FileEntry> {
    return this.http.request('POST', route`/v1/sessions/${session}/files/folders`, { body: { path }, ...call });
  }
  move(session: string, from: string, to: string, call?: Call & { overwrite?: boolean }): Promise<t.FileEntry> {
    const { overwrite, ...rest } = call ?? {};
    return this.http.request('POST', route`/v1/sessions/${session}/files/move`, {
      body: { from, to, overwrite },
      ...rest,
    });
  }
  copy(
    session: string,
    from: string,
    to: string,
    call?: Call & { overwrite?: boolean },
  ): Promise<t.Schemas['CopiedFile']> {
    const { overwrite, ...rest } = call ?? {};
    return this.http.request('POST', route`/v1/sessions/${session}/files/copy`, {
      body: { from, to, overwrite },
      ...rest,
    });
  }
  chmod(session: string, path: string, mode: string, call?: Call): Promise<t.FileEntry> {
    return this.http.request('POST', route`/v1/sessions/${session}/files/chmod`, { body: { path, mode }, ...call });
  }
  remove(session: string, path: string, call?: Call & { recursive?: boolean }): Promise<void> {
    const { recursive, ...rest } = call ?? {};
    return this.http.request('DELETE', route`/v1/sessions/${session}/files`, { query: { path, recursive }, ...rest });
  }
  search(session: string, query: t.Query<'searchFiles'>, call?: Call): Promise<t.SearchResult> {
    return this.http.request('GET', route`/v1/sessions/${session}/files/search`, { query, ...call });
  }
  diff(session: string, query?: t.Query<'diffFiles'>, call?: Call): Promise<t.FileDiff> {
    return this.http.request('GET', route`/v1/sessions/${session}/files/diff`, { query, ...call });
  }
  watch(session: string, options?: WatchOptions): AsyncGenerator<t.FileChange, void> {
    return watchFiles(this.http, session, options);
  }
  /** Downloads a folder as an archive. */
  archive(session: string, query?: t.Query<'downloadArchive'>, call?: Call): Promise<Response> {
    return this.http.raw('GET', route`/v1/sessions/${session}/files/archive`, { query, ...call });
  }
  /** Unpacks an archive into a folder: all of it, or nothing. */
  unpack(
    session: string,
    archive: RawBody,
    query?: t.Query<'unpackArchive'>,
    call?: Call,
  ): Promise<t.Schemas['UnpackedArchive']> {
    return this.http.request('PUT', route`/v1/sessions/${session}/files/archive`, { query, body: archive, ...call });
  }
}

export class Builds {
  constructor(private readonly http: Http) {}

  list(session: string, query?: t.Query<'listBuilds'>, call?: Call): Promise<t.BuildPage> {
    return this.http.request('GET', route`/v1/sessions/${session}/builds`, { query, ...call });
  }
  get(id: string, query?: t.Query<'getBuild'>, call?: Call): Promise<t.Build> {
    return this.http.request('GET', route`/v1/builds/${id}`, { query, ...call });
  }
  /** Builds in a session. Returns when the build has ended, or at once with `wait: false`. */
  start(session: string, body: t.BuildSpec, call?: KeyedCall): Promise<t.Build> {
    return this.http.once(route`/v1/sessions/${session}/builds`, { body, ...call });
  }
  cancel(id: string, call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/builds/${id}/cancel`, call);
  }
  compileCommands(session: string, call?: Call): Promise<t.Schemas['CompileCommand'][]> {
    return this.http.request('GET', route`/v1/sessions/${session}/builds/compile-commands`, call);
  }
}

export class Terminals {
  constructor(private readonly http: Http) {}

  list(session: string, call?: Call): Promise<t.Schemas['TerminalList']> {
    return this.http.request('GET', route`/v1/sessions/${session}/terminals`, call);
  }
  create(session: string, body: t.TerminalRequest = {}, call?: Call): Promise<t.Terminal> {
    return this.http.request('POST', route`/v1/sessions/${session}/terminals`, { body, ...call });
  }
  end(session: string, name: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/sessions/${session}/terminals/${name}`, call);
  }
  screen(session: string, name: string, call?: Call): Promise<t.TerminalScreen> {
    return this.http.request('GET', route`/v1/sessions/${session}/terminals/${name}/snapshot`, call);
  }
  /** Opens a terminal by WebSocket. It is created if it does not exist, and keeps running when the socket closes. */
  open(session: string, options?: TerminalOptions): Attachment {
    return openTerminal(this.http, session, options);
  }
}

export class Packages {
  constructor(private readonly http: Http) {}

  list(session: string, kind: 'python' | 'node', call?: Call): Promise<t.PackageList> {
    return this.http.request('GET', route`/v1/sessions/${session}/${kind}/packages`, call);
  }
  /** Installs and uninstalls packages; returns the execution that does it. */
  change(session: string, kind: 'python', body: Partial<t.Schemas['PythonRequest']>, call?: Call): Promise<t.Execution>;
  change(session: string, kind: 'node', body: Partial<t.Schemas['NodeRequest']>, call?: Call): Promise<t.Execution>;
  change(session: string, kind: string, body: object, call?: Call): Promise<t.Execution> {
    return this.http.request('POST', route`/v1/sessions/${session}/${kind}/packages`, { body, ...call });
  }
}

export class Users {
  constructor(private readonly http: Http) {}

  list(query?: t.Query<'listUsers'>, call?: Call): Promise<t.Schemas['UserPage']> {
    return this.http.request('GET', '/v1/users', { query, ...call });
  }
  get(user: string, call?: Call): Promise<t.User> {
    return this.http.request('GET', route`/v1/users/${user}`, call);
  }
  create(body: t.UserRequest, call?: Call): Promise<t.User> {
    return this.http.request('POST', '/v1/users', { body, ...call });
  }
  update(user: string, body: t.UserPatch, call?: Call): Promise<t.User> {
    return this.http.request('PATCH', route`/v1/users/${user}`, { body, ...call });
  }
  remove(user: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/users/${user}`, call);
  }
}

export class Tokens {
  constructor(private readonly http: Http) {}

  list(query?: t.Query<'listTokens'>, call?: Call): Promise<t.Schemas['TokenPage']> {
    return this.http.request('GET', '/v1/tokens', { query, ...call });
  }
  /** Creates a token. Its secret is returned only here. */
  create(body: t.TokenRequest = {}, call?: Call): Promise<t.Token> {
    return this.http.request('POST', '/v1/tokens', { body, ...call });
  }
  revoke(token: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/tokens/${token}`, call);
  }
}

export class Audit {
  constructor(private readonly http: Http) {}

  list(query?: t.Query<'listAuditRows'>, call?: Call): Promise<t.Schemas['AuditRowPage']> {
    return this.http.request('GET', '/v1/audit', { query, ...call });
  }
  /** All rows as JSON lines. */
  export(query?: t.Query<'exportAuditRows'>, call?: Call): Promise<Response> {
    return this.http.raw('GET', '/v1/audit/export', { query, ...call });
  }
}

export class UsageGroup {
  constructor(private readonly http: Http) {}

  /** Your quota, your use, and your queued starts. */
  get(call?: Call): Promise<t.OwnerUsage> {
    return this.http.request('GET', '/v1/usage', call);
  }
  /** What your running sessions use now. */
  sessions(query?: t.Query<'listSessionUsage'>, call?: Call): Promise<t.Schemas['RunningUsageList']> {
    return this.http.request('GET', '/v1/usage/sessions', { query, ...call });
  }
}
