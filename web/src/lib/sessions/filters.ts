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
    ...(filters.q ? { q: filters.q } : {}),
    ...(filters.scope === 'shared' ? { shared: true } : owner ? { owner } : {}),
  };
  const state = filters.state ? { state: filters.state } : { ended: false };
  return client.sessions.list({ ...query, ...state }, { signal });
}

/** When something last happened in a session, in milliseconds. */
export function lastActivity(session: Session): number {
  const times = [session.created_at, session.last_activity_at, session.ended_at];
  return Math.max(...times.map((time) => (time ? Date.parse(time) : 0)));
}
