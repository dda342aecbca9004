// The filters of the list of sessions, and how its pages are loaded.

import type { Headwater, Session, SessionPage } from 'headwater';

export const STATES = ['ready', 'hibernated', 'ended'] as const;
export const SCOPES = ['mine', 'all', 'shared'] as const;

export interface SessionFilters {
  readonly q: string;
  /** Empty: all that have not ended. */
  readonly state: (typeof STATES)[number] | '';
  /** Empty: all that the user may list. */
  readonly scope: (typeof SCOPES)[number] | '';
  readonly owner: string;
}

function oneOf<T extends string>(values: readonly T[], text: string | null): T | '' {
  return values.find((value) => value === text) ?? '';
}

export function fromQuery(query: URLSearchParams): SessionFilters {
  return {
    q: query.get('q') ?? '',
    state: oneOf(STATES, query.get('state')),
    scope: oneOf(SCOPES, query.get('scope')),
    owner: query.get('owner') ?? '',
  };
}

export function isFiltered(filters: SessionFilters): boolean {
  return filters.q !== '' || filters.state !== '' || filters.owner !== '';
}

/** Whether a session matches the text that was searched for: all words, in its name, id, owner or metadata. */
export function matches(session: Session, q: string): boolean {
  if (!q) return true;
  const text = [session.name ?? '', session.id, session.owner ?? '', ...Object.values(session.metadata)]
    .join('\n')
    .toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The number of sessions on a page. */
const PAGE = 200;

/** Loads a page. `me` is the name of the user. */
export async function loadSessions(
  client: Headwater,
  filters: SessionFilters,
  me: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<SessionPage> {
  const owner = filters.owner || (filters.scope === 'mine' ? me : '');
  const query = {
    limit: PAGE,
    ...(cursor ? { cursor } : {}),
    ...(filters.scope === 'shared' ? { shared: true } : owner ? { owner } : {}),
  };
  if (filters.state) return client.sessions.list({ ...query, state: filters.state }, { signal });
  // The server has no filter "not ended". Pages of both states are cut from the same rows, so they have the same cursors.
  const [ready, hibernated] = await Promise.all([
    client.sessions.list({ ...query, state: 'ready' }, { signal }),
    client.sessions.list({ ...query, state: 'hibernated' }, { signal }),
  ]);
  return { items: newestFirst(ready.items, hibernated.items), next_cursor: ready.next_cursor ?? null };
}

/** Both lists as one, newest first. A session that changed its state between the requests is in both. */
export function newestFirst(first: readonly Session[], second: readonly Session[]): Session[] {
  const all = new Map(second.map((session) => [session.id, session]));
  for (const session of first) all.set(session.id, session);
  return [...all.values()].sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
}
