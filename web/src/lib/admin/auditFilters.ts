// The filters of the audit log: in the address, and in the query to the server.

export const SPANS = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 } as const;
export type Span = keyof typeof SPANS;

export interface AuditFilters {
  readonly owner: string;
  readonly action: string;
  readonly object: string;
  readonly result: 'ok' | 'denied' | '';
  readonly since: Span | '';
}

/** The actions that the server records. Others can be given in the address. */
export const ACTIONS: readonly string[] = [
  'build.cancel',
  'build.start',
  'execution.cancel',
  'execution.delete',
  'execution.signal',
  'execution.start',
  'file.write',
  'files.unpack',
  'login',
  'member.delete',
  'member.put',
  'oauth.allow',
  'request.deny',
  'session.create',
  'session.delete',
  'session.end',
  'session.fork',
  'session.hibernate',
  'session.patch',
  'share.create',
  'share.revoke',
  'snapshot.create',
  'snapshot.delete',
  'snapshot.restore',
  'terminal.delete',
  'token.create',
  'token.revoke',
  'tool.call',
  'user.create',
  'user.delete',
  'user.patch',
  'watchdog.flag',
  'watchdog.stop',
];

export function fromQuery(query: URLSearchParams): AuditFilters {
  const result = query.get('result');
  const since = query.get('since') ?? '';
  return {
    owner: query.get('owner') ?? '',
    action: query.get('action') ?? '',
    object: query.get('object') ?? '',
    result: result === 'ok' || result === 'denied' ? result : '',
    since: Object.hasOwn(SPANS, since) ? (since as Span) : '',
  };
}

/** The query of `GET /v1/audit`. The export takes only `owner` and the time. */
export function serverQuery(filters: AuditFilters, now: number): Record<string, string | number> {
  const query: Record<string, string | number> = {};
  for (const name of ['owner', 'action', 'object', 'result'] as const) {
    if (filters[name]) query[name] = filters[name];
  }
  if (filters.since) query['since_ms'] = now - SPANS[filters.since];
  return query;
}

export function exportQuery(filters: AuditFilters, now: number): Record<string, string | number> {
  const { owner, since_ms } = serverQuery(filters, now);
  return { ...(owner ? { owner } : {}), ...(since_ms ? { since_ms } : {}) };
}
