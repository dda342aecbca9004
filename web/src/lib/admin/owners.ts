// Sums what the sessions of each owner use.

import type { RunningUsage, Session } from 'headwater';

export interface OwnerSum {
  readonly id: string;
  ready: number;
  hibernated: number;
  running: number;
  cpuMs: number;
  memory: number;
  disk: number;
}

/** The owners with the most memory first, then by the number of sessions. */
export function sumByOwner(sessions: readonly Session[], usage: readonly RunningUsage[]): OwnerSum[] {
  const sums = new Map<string, OwnerSum>();
  const ownerOf = new Map<string, OwnerSum>();
  for (const session of sessions) {
    if (session.state === 'ended') continue;
    const id = session.owner ?? '';
    const sum = sums.get(id) ?? { id, ready: 0, hibernated: 0, running: 0, cpuMs: 0, memory: 0, disk: 0 };
    sum[session.state] += 1;
    sum.running += session.running;
    sums.set(id, sum);
    ownerOf.set(session.id, sum);
  }
  for (const used of usage) {
    const sum = ownerOf.get(used.session_id);
    if (!sum) continue;
    sum.cpuMs += used.cpu_ms;
    sum.memory += used.memory_bytes;
    sum.disk += used.disk_bytes + used.log_bytes;
  }
  return [...sums.values()].sort(
    (a, b) => b.memory - a.memory || b.ready + b.hibernated - (a.ready + a.hibernated) || a.id.localeCompare(b.id),
  );
}

/** Parts of at most `size`. */
export function inParts<T>(items: readonly T[], size: number): T[][] {
  const parts: T[][] = [];
  for (let at = 0; at < items.length; at += size) parts.push(items.slice(at, at + size));
  return parts;
}
