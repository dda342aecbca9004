// What runs in a session besides executions: builds, terminals, changes of packages.
import { openTerminal, type Attachment, type TerminalOptions } from '../attach.js';
import { route, type Http } from '../http.js';
import type { Call, KeyedCall } from './call.js';
import type * as t from '../types.js';

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
