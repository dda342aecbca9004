// Sessions: their life, members, links and snapshots.
import { followFeed, type FeedEvent } from '../follow.js';
import { route, type Http } from '../http.js';
import type { StreamOptions } from '../stream.js';
import type { Call, KeyedCall } from './call.js';
import type * as t from '../types.js';

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
  /** The TCP ports that programs of a session listen on now. */
  ports(session: string, call?: Call): Promise<t.Schemas['PortList']> {
    return this.http.request('GET', route`/v1/sessions/${session}/ports`, call);
  }
  /** Opens a port as a web site on an origin of its own. Whoever has its address can use it until it expires. */
  preview(session: string, port: number, call?: Call): Promise<t.Preview> {
    return this.http.request('POST', route`/v1/sessions/${session}/previews`, { body: { port }, ...call });
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
