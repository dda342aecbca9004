// The filters of the history: how they are written in the URL, and how the server is asked for them.

import type { Execution } from 'headwater';

/** Ways to run something that are no language. */
export const KINDS = ['shell', 'program', 'terminal'] as const;
export type Kind = (typeof KINDS)[number];

export const STATES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type StateFilter = (typeof STATES)[number];

/** Spans of time back from now, with their length in milliseconds. */
export const SPANS = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 } as const;
export type Span = keyof typeof SPANS;

/** What the user chose. An empty text means "all". */
export interface Filters {
  readonly q: string;
  readonly state: StateFilter | '';
  readonly kind: Kind | '';
  readonly language: string;
  readonly session: string;
  readonly owner: string;
  readonly since: Span | '';
  /** Days in local time, `YYYY-MM-DD`, both included. */
  readonly from: string;
  readonly to: string;
}

export const NO_FILTERS: Filters = {
  q: '',
  state: '',
  kind: '',
  language: '',
  session: '',
  owner: '',
  since: '',
  from: '',
  to: '',
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;

function oneOf<T extends string>(values: readonly T[], text: string | null): T | '' {
  return values.find((value) => value === text) ?? '';
}

function day(text: string | null): string {
  return text && DAY.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00`)) ? text : '';
}

/** Reads the filters from a URL's query. What is not understood is left out. */
export function fromQuery(query: URLSearchParams): Filters {
  const since = oneOf(Object.keys(SPANS) as Span[], query.get('since'));
  const language = query.get('language') ?? '';
  return {
    q: query.get('q') ?? '',
    state: oneOf(STATES, query.get('state')),
    kind: language ? '' : oneOf(KINDS, query.get('kind')),
    language,
    session: query.get('session') ?? '',
    owner: query.get('owner') ?? '',
    since,
    from: since ? '' : day(query.get('from')),
    to: since ? '' : day(query.get('to')),
  };
}

/** Writes the filters as a URL's query, without those that are not set. Begins with `?`, or is empty. */
export function toQuery(filters: Filters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** Whether any filter is set. */
export function isFiltered(filters: Filters): boolean {
  return Object.values(filters).some((value) => value !== '');
}

/** The filters as parameters of `GET /v1/executions`. */
export function serverQuery(filters: Filters, now: number): Record<string, string> {
  const query: Record<string, string> = {};
  if (filters.q) query['q'] = filters.q;
  if (filters.state === 'queued' || filters.state === 'running') query['state'] = filters.state;
  else if (filters.state) query['outcome'] = filters.state;
  if (filters.kind) query['kind'] = filters.kind;
  if (filters.language) query['language'] = filters.language;
  if (filters.session) query['session_id'] = filters.session;
  if (filters.owner) query['owner'] = filters.owner;
  if (filters.since) query['started_after'] = new Date(now - SPANS[filters.since]).toISOString();
  if (filters.from) query['started_after'] = startOfDay(filters.from, 0);
  if (filters.to) query['started_before'] = startOfDay(filters.to, 1);
  return query;
}

function startOfDay(text: string, plusDays: number): string {
  const date = new Date(`${text}T00:00:00`);
  date.setDate(date.getDate() + plusDays);
  return date.toISOString();
}

/** Whether the server looks at a bounded number of executions for each page, so that a page may be short or empty. */
export function isSearch(filters: Filters): boolean {
  return filters.q !== '' || filters.kind !== '';
}

/** How an execution was started. */
export function kindOf(execution: Execution): Kind | 'code' {
  if (execution.tty && !('code' in execution.command)) return 'terminal';
  if ('code' in execution.command) return 'code';
  return 'shell' in execution.command ? 'shell' : 'program';
}
