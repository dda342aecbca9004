import { describe, expect, it } from 'vitest';
import type { Execution } from 'headwater';
import { fromQuery, isFiltered, isSearch, kindOf, NO_FILTERS, serverQuery, toQuery, type Filters } from './filters';
import { commandText, durationOf, outcomeOf } from './words';

function execution(change: Partial<Execution>): Execution {
  return {
    id: 'exe_1',
    session_id: 'ses_1',
    state: 'closed',
    started_at: '2026-01-02T03:04:05Z',
    stdout_bytes: 0,
    stderr_bytes: 0,
    output_bytes: 0,
    last_seq: 1,
    command: { shell: 'make  test' },
    metadata: {},
    ...change,
  };
}

describe('the filters in the URL', () => {
  it('survive the way there and back', () => {
    const filters: Filters = {
      ...NO_FILTERS,
      q: 'pip install & more',
      state: 'failed',
      language: 'python',
      session: 'ses_ab',
      owner: 'ann',
      from: '2026-01-02',
      to: '2026-01-03',
    };
    expect(fromQuery(new URLSearchParams(toQuery(filters)))).toEqual(filters);
    expect(toQuery(NO_FILTERS)).toBe('');
    expect(isFiltered(NO_FILTERS)).toBe(false);
    expect(isFiltered(filters)).toBe(true);
  });

  it('leaves out what it does not understand', () => {
    const query = new URLSearchParams('state=odd&kind=constructor&since=9y&from=2026-99-99&to=x');
    expect(fromQuery(query)).toEqual(NO_FILTERS);
  });

  it('lets a span win over days', () => {
    const filters = fromQuery(new URLSearchParams('since=24h&from=2026-01-02'));
    expect([filters.since, filters.from]).toEqual(['24h', '']);
  });
});

describe('serverQuery', () => {
  it('has every filter that is set', () => {
    const now = Date.parse('2026-01-02T00:00:00Z');
    expect(serverQuery(NO_FILTERS, now)).toEqual({});
    const filters: Filters = {
      ...NO_FILTERS,
      q: 'make  Test',
      kind: 'shell',
      session: 'ses_1',
      owner: 'ann',
      since: '1h',
    };
    expect(serverQuery(filters, now)).toEqual({
      q: 'make  Test',
      kind: 'shell',
      session_id: 'ses_1',
      owner: 'ann',
      started_after: '2026-01-01T23:00:00.000Z',
    });
    expect(serverQuery({ ...NO_FILTERS, language: 'python' }, now)).toEqual({ language: 'python' });
  });

  it('tells states from outcomes', () => {
    const asked = (state: Filters['state']): object => serverQuery({ ...NO_FILTERS, state }, 0);
    expect(asked('running')).toEqual({ state: 'running' });
    expect(asked('queued')).toEqual({ state: 'queued' });
    expect(asked('succeeded')).toEqual({ outcome: 'succeeded' });
    expect(asked('failed')).toEqual({ outcome: 'failed' });
  });

  it('includes the last day', () => {
    const query = serverQuery({ ...NO_FILTERS, from: '2026-03-01', to: '2026-03-01' }, 0);
    const length = Date.parse(query['started_before'] ?? '') - Date.parse(query['started_after'] ?? '');
    expect(length).toBe(86_400_000);
  });

  it('is a search if the server reads executions one by one', () => {
    expect(isSearch({ ...NO_FILTERS, q: 'x' })).toBe(true);
    expect(isSearch({ ...NO_FILTERS, kind: 'shell' })).toBe(true);
    expect(isSearch({ ...NO_FILTERS, state: 'failed', language: 'python', owner: 'ann' })).toBe(false);
  });
});

describe('kindOf', () => {
  it('agrees with the filter of the server', () => {
    const tty = { rows: 24, cols: 80 };
    expect(kindOf(execution({}))).toBe('shell');
    expect(kindOf(execution({ command: { argv: ['ls'] } }))).toBe('program');
    expect(kindOf(execution({ tty, command: { argv: ['bash', '-l'] } }))).toBe('terminal');
    expect(kindOf(execution({ tty, command: { code: { language: 'python', code: '1' } } }))).toBe('code');
  });
});

describe('words', () => {
  it('say how it ended', () => {
    expect(outcomeOf(execution({ exit: { reason: 'exited', code: 3 } }))).toEqual({
      tone: 'danger',
      text: 'exited with 3',
    });
    expect(outcomeOf(execution({ exit: { reason: 'signalled', signal: 11 } })).text).toContain('SIGSEGV');
    expect(outcomeOf(execution({ state: 'running' })).tone).toBe('running');
  });

  it('show a command as a shell would take it', () => {
    expect(commandText(execution({ command: { argv: ['echo', "it's", 'a b'] } }))).toBe(`echo 'it'\\''s' 'a b'`);
  });

  it('count the time of a running execution', () => {
    const running = execution({ state: 'running' });
    expect(durationOf(running, Date.parse(running.started_at) + 1500)).toBe(1500);
    expect(durationOf(execution({ state: 'queued' }), 0)).toBeNull();
    expect(durationOf(execution({ duration_ms: 7 }), 0)).toBe(7);
  });
});
