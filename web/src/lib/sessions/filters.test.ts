import { describe, expect, it } from 'vitest';
import type { Session } from 'headwater';
import { fromQuery, isFiltered, matches, newestFirst } from './filters';

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

  it('find words in names, ids, owners and metadata', () => {
    const one = session('ses_12ab', { name: 'API server', metadata: { ticket: 'HW-7' } });
    for (const text of ['api', 'server api', '12AB', 'ann', 'hw-7']) expect(matches(one, text)).toBe(true);
    expect(matches(one, 'api client')).toBe(false);
  });
});

describe('newestFirst', () => {
  it('joins two lists in order of time, each session once', () => {
    const old = session('ses_a', { created_at: '2026-01-01T00:00:00Z' });
    const middle = session('ses_b', { created_at: '2026-01-02T00:00:00Z', state: 'hibernated' });
    const recent = session('ses_c', { created_at: '2026-01-03T00:00:00Z' });
    const joined = newestFirst([recent, { ...middle, state: 'ready' }, old], [middle]);
    expect(joined.map((one) => one.id)).toEqual(['ses_c', 'ses_b', 'ses_a']);
    expect(joined[1]?.state).toBe('ready');
  });
});
