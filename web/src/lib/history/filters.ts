// The filters of the history: how they are written in the URL, what of them the server does, and what this page does.

import type { Execution } from 'headwater';
import { commandText } from './words';

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

/** The part of the filters that `GET /v1/executions` does. */
export function serverQuery(filters: Filters, now: number): Record<string, string> {
  const query: Record<string, string> = {};
  if (filters.state === 'queued' || filters.state === 'running') query['state'] = filters.state;
  if (filters.language) query['language'] = filters.language;
  if (filters.session) query['session_id'] = filters.session;
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

/** Whether a filter is set that the server does not know, so that pages have to be searched here. */
export function isSearchedHere(filters: Filters): boolean {
  return (
    filters.q !== '' ||
    filters.kind !== '' ||
    filters.owner !== '' ||
    filters.state === 'succeeded' ||
    filters.state === 'failed'
  );
}

/** How an execution was started. */
export function kindOf(execution: Execution): Kind | 'code' {
  if (execution.tty && !('code' in execution.command)) return 'terminal';
  if ('code' in execution.command) return 'code';
  return 'shell' in execution.command ? 'shell' : 'program';
}

/** Whether it ended as the one who started it hoped. */
export function hasSucceeded(execution: Execution): boolean {
  return execution.exit?.reason === 'exited' && execution.exit.code === 0;
}

/** The part of the filters that this page does. `ownerOf` returns the owner of a session, if it is known. */
export function matches(
  execution: Execution,
  filters: Filters,
  ownerOf: (sessionId: string) => string | undefined,
): boolean {
  if (filters.state === 'succeeded' && !hasSucceeded(execution)) return false;
  if (filters.state === 'failed' && (!execution.exit || hasSucceeded(execution))) return false;
  if (filters.kind && kindOf(execution) !== filters.kind) return false;
  if (filters.owner && ownerOf(execution.session_id) !== filters.owner) return false;
  if (!filters.q) return true;
  const text = `${commandText(execution)}\n${execution.id}\n${execution.session_id}`.toLowerCase();
  return filters.q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
