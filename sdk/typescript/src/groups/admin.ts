// Users, tokens, the audit log and usage.
import { route, type Http } from '../http.js';
import type { Call } from './call.js';
import type * as t from '../types.js';

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
