// What the charts show, computed from two scrapes of `/metrics`.

import { RateMeter, type Point } from './points';
import { valueOf, type Scrape } from './prometheus';

/** Everything that is drawn, at one moment. */
export const SERIES = [
  'ready',
  'hibernated',
  'running',
  'started',
  'sessionsCpu',
  'serverCpu',
  'workerCpu',
  'sessionsMemory',
  'serverMemory',
  'workerMemory',
  'sent',
  'written',
  'waiting',
  'requests',
  'errors',
  'connections',
  'streams',
  'workspaces',
  'logs',
] as const;
export type Series = (typeof SERIES)[number];
export type Measured = Point<Series>;

/** The sessions are measured every ten seconds or so; a rate is believed for this long. */
const SESSIONS_STALE_MS = 30_000;
const STALE_MS = 2000;

/** Turns scrapes into points. It remembers the counters of the last one. */
export class Measurements {
  readonly #rates: Record<
    'started' | 'serverCpu' | 'workerCpu' | 'sent' | 'written' | 'requests' | 'errors',
    RateMeter
  >;
  readonly #sessionsCpu = new RateMeter(SESSIONS_STALE_MS);

  constructor() {
    const meter = (): RateMeter => new RateMeter(STALE_MS);
    this.#rates = {
      started: meter(),
      serverCpu: meter(),
      workerCpu: meter(),
      sent: meter(),
      written: meter(),
      requests: meter(),
      errors: meter(),
    };
  }

  next(at: number, scrape: Scrape): Measured {
    const value = (name: string, labels?: Record<string, string>): number | null =>
      valueOf(scrape, `headwater_${name}`, labels);
    const rates = this.#rates;
    return {
      at,
      ready: value('sessions', { state: 'ready' }),
      hibernated: value('sessions', { state: 'hibernated' }),
      running: value('executions_running'),
      started: rates.started.next(at, value('executions_started_total')),
      sessionsCpu: this.#sessionsCpu.next(at, value('sessions_cpu_seconds')),
      serverCpu: rates.serverCpu.next(at, value('cpu_seconds_total', { process: 'server' })),
      workerCpu: rates.workerCpu.next(at, value('cpu_seconds_total', { process: 'worker' })),
      sessionsMemory: value('sessions_memory_bytes'),
      serverMemory: value('memory_bytes', { process: 'server' }),
      workerMemory: value('memory_bytes', { process: 'worker' }),
      sent: rates.sent.next(at, value('sent_bytes_total')),
      written: rates.written.next(at, value('output_bytes_total')),
      waiting: value('queue_length'),
      requests: rates.requests.next(at, value('requests_total')),
      errors: rates.errors.next(at, value('errors_total')),
      connections: value('connections'),
      streams: value('streams'),
      workspaces: value('disk_bytes', { kind: 'workspaces' }),
      logs: value('disk_bytes', { kind: 'logs' }),
    };
  }
}
