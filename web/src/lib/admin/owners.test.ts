import { describe, expect, it } from 'vitest';
import type { RunningUsage, Session } from 'headwater';
import { inParts, sumByOwner } from './owners';

const session = (id: string, owner: string, state: Session['state'], running = 0): Session => ({
  id,
  owner,
  state,
  running,
  sandbox: 'full',
  limits: {},
  metadata: {},
  network: 'none',
  one_shot: false,
  created_at: '2026-01-01T00:00:00Z',
});
const used = (session_id: string, memory_bytes: number): RunningUsage => ({
  session_id,
  memory_bytes,
  cpu_ms: 10,
  processes: 1,
  disk_bytes: 5,
  snapshot_bytes: 0,
  log_bytes: 1,
});

describe('sumByOwner', () => {
  it('adds up sessions and their use', () => {
    const sums = sumByOwner(
      [
        session('a', 'ann', 'ready', 2),
        session('b', 'ann', 'hibernated'),
        session('c', 'bob', 'ready'),
        session('d', 'cleo', 'ended'),
      ],
      [used('a', 100), used('c', 300), used('unknown', 1)],
    );
    expect(sums.map((sum) => sum.id)).toEqual(['bob', 'ann']);
    expect(sums[1]).toEqual({ id: 'ann', ready: 1, hibernated: 1, running: 2, cpuMs: 10, memory: 100, disk: 6 });
  });
});

describe('inParts', () => {
  it('cuts a list', () => {
    expect(inParts([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
    expect(inParts([], 2)).toEqual([]);
  });
});
