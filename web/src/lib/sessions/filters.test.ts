import { describe, expect, it } from 'vitest';
import type { Headwater, Session } from 'headwater';
import { fromQuery, isFiltered, lastActivity, loadSessions, type SessionFilters } from './filters';

function session(id: string, change: Partial<Session> = {}): Session {
  return {
    id,
    owner: 'ann',
    name: null,
    state: 'ready',
    sandbox: 'full',
    limits: {},
    metadata: {},
    network: 'none',
    one_shot: false,
    created_at: '2026-01-01T00:00:00Z',
    running: 0,
    ...change,
  };
}

describe('filters of sessions', () => {
  it('are read from the query', () => {
    const filters = fromQuery(new URLSearchParams('q=api&state=hibernated&scope=shared&owner=bob'));
    expect(filters).toEqual({ q: 'api', state: 'hibernated', scope: 'shared', owner: 'bob' });
    expect(isFiltered(filters)).toBe(true);
    expect(isFiltered(fromQuery(new URLSearchParams('state=odd&scope=x')))).toBe(false);
  });
});

describe('loadSessions', () => {
  async function asked(change: Partial<SessionFilters>, cursor?: string): Promise<unknown> {
    let query: unknown;
    const list = (given: unknown): Promise<{ items: Session[] }> => {
      query = given;
      return Promise.resolve({ items: [] });
    };
    const filters: SessionFilters = { q: '', state: '', scope: '', owner: '', ...change };
    const client = { sessions: { list } } as unknown as Headwater;
    await loadSessions(client, filters, 'ann', cursor, new AbortController().signal);
    return query;
  }

  it('asks for those that have not ended, unless a state is chosen', async () => {
    expect(await asked({})).toEqual({ limit: 200, ended: false });
    expect(await asked({ state: 'ended' })).toEqual({ limit: 200, state: 'ended' });
    expect(await asked({ q: 'api' })).toEqual({ limit: 200, q: 'api', ended: false });
  });

  it('asks for the owner, or for what is shared', async () => {
    expect(await asked({ scope: 'mine' }, '7')).toEqual({ limit: 200, ended: false, owner: 'ann', cursor: '7' });
    expect(await asked({ owner: 'bob' })).toEqual({ limit: 200, ended: false, owner: 'bob' });
    expect(await asked({ scope: 'shared', owner: 'bob' })).toEqual({ limit: 200, ended: false, shared: true });
  });
});

describe('lastActivity', () => {
  it('is the last of all that is known', () => {
    expect(lastActivity(session('ses_a'))).toBe(Date.parse('2026-01-01T00:00:00Z'));
    const active = session('ses_a', { last_activity_at: '2026-01-02T00:00:00Z' });
    expect(lastActivity(active)).toBe(Date.parse('2026-01-02T00:00:00Z'));
    expect(lastActivity({ ...active, ended_at: '2026-01-03T00:00:00Z' })).toBe(Date.parse('2026-01-03T00:00:00Z'));
  });
});
