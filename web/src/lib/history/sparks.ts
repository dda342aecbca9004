// Reads the log of an execution for its sparkline: a bounded part of it, once, and only for rows that are visible.

import type { Execution, Headwater } from 'headwater';
import { Limited } from '$lib/lists/limited';
import { bars, Collected } from './sparkline';
import { durationOf, printedBytes } from './words';

/** The bytes at the end of a log that are read. What is before is spread evenly. */
const TAIL = 96 * 1024;
/** The events that are read at most. */
const MAX_EVENTS = 3000;

export interface Spark {
  readonly sums: readonly number[];
  /** Whether parts of it are averaged. */
  readonly isPartly: boolean;
}

/** Two at once: browsers open six connections, and a stream of the page may hold some of them. */
const queue = new Limited(2, 60);
const known = new Map<string, Spark>();
const MAX_KNOWN = 2000;

const keyOf = (execution: Execution): string => `${execution.id} ${execution.last_seq}`;

export function knownSpark(execution: Execution): Spark | undefined {
  return known.get(keyOf(execution));
}

/** Returns the sparkline of an execution. Rejects if the signal ends it before. */
export async function loadSpark(client: Headwater, execution: Execution, signal: AbortSignal): Promise<Spark> {
  const spark = await queue.run(async () => {
    signal.throwIfAborted();
    return read(client, execution, signal);
  });
  if (known.size >= MAX_KNOWN) known.delete(known.keys().next().value ?? '');
  known.set(keyOf(execution), spark);
  return spark;
}

async function read(client: Headwater, execution: Execution, signal: AbortSignal): Promise<Spark> {
  const total = printedBytes(execution);
  const collected = new Collected();
  let count = 0;
  const events = client.executions.follow(execution.id, {
    signal,
    batchMs: 0,
    ...(total > TAIL ? { tail: TAIL } : {}),
  });
  for await (const event of events) {
    collected.add(event);
    count += 1;
    if (event.seq >= execution.last_seq || count >= MAX_EVENTS) break;
  }
  const span = durationOf(execution, Date.now()) ?? 0;
  return { sums: bars(collected.printed, Math.max(span, collected.lastMs)), isPartly: collected.isPartly };
}
