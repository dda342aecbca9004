// What an operator should know now, derived from the metrics, the readiness and the server's own description. The
// checks of `headwater doctor` take seconds and have a tab of their own.

import type { ServerInfo } from 'headwater';
import { strings } from '$lib/strings/en';
import { bytes } from '$lib/ui/format';
import { valueOf, type Scrape } from './prometheus';

export interface Finding {
  readonly level: 'danger' | 'warning';
  readonly text: string;
}

/** A disk with less than this share free deserves a word. */
const LOW_DISK = 0.1;
const MANY_FILES = 0.8;

export function findingsOf(scrape: Scrape, info: ServerInfo | null): Finding[] {
  const words = strings.admin.server.findingKinds;
  const value = (name: string, labels?: Record<string, string>): number | null =>
    valueOf(scrape, `headwater_${name}`, labels);
  const found: Finding[] = [];
  const add = (level: Finding['level'], text: string): void => void found.push({ level, text });

  if (value('worker_up') === 0) add('danger', words.workerDown);
  const free = value('disk_free_bytes');
  const total = value('disk_total_bytes');
  if (value('disk_short') === 1) add('danger', words.diskShort);
  else if (free !== null && total && free / total < LOW_DISK) add('warning', words.diskLow(bytes(free)));
  if (info?.sandbox === 'none') add('danger', words.noSandbox);
  if (info && info.version !== info.worker_version) add('warning', words.skew(info.version, info.worker_version));
  const counted: [string, (count: number) => string, Finding['level']][] = [
    ['panics', words.panics, 'danger'],
    ['worker_restarts_total', words.restarts, 'warning'],
    ['watchdog_flags_total', words.watchdog, 'warning'],
    ['queue_length', words.queue, 'warning'],
    ['queue_refused_total', words.refused, 'warning'],
  ];
  for (const [name, text, level] of counted) {
    const count = value(name);
    if (count) add(level, text(count));
  }
  for (const process of ['server', 'worker']) {
    const open = value('open_files', { process });
    const max = value('max_files', { process });
    if (open !== null && max && open / max > MANY_FILES) add('warning', words.files);
  }
  return found;
}
