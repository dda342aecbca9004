// Executions in words: what was run, and how it ended.

import type { Execution } from 'headwater';
import { commandText as textOf, signalName } from '$lib/runs/words';
import { strings } from '$lib/strings/en';
import type { Tone } from '$lib/ui/state';

/** A state in words. */
export interface Outcome {
  readonly tone: Tone;
  readonly text: string;
}

/** How an execution ended, or that it has not. */
export function outcomeOf(execution: Pick<Execution, 'state' | 'exit'>): Outcome {
  const words = strings.history.outcome;
  const exit = execution.exit;
  if (!exit) {
    if (execution.state === 'queued') return { tone: 'neutral', text: words.queued };
    if (execution.state === 'running') return { tone: 'running', text: words.running };
    return { tone: 'neutral', text: words.ended };
  }
  switch (exit.reason) {
    case 'exited':
      return {
        tone: exit.code === 0 ? 'success' : 'danger',
        text: words.exited(exit.code ?? 0),
      };
    case 'signalled':
      return { tone: 'danger', text: words.signalled(signalName(exit.signal ?? 0)) };
    case 'cancelled':
      return { tone: 'warning', text: words.cancelled };
    case 'timed_out':
      return { tone: 'danger', text: words.timedOut };
    case 'oom':
      return { tone: 'danger', text: words.outOfMemory };
    case 'output_limit':
      return { tone: 'danger', text: words.outputLimit };
    case 'disk_limit':
      return { tone: 'danger', text: words.diskLimit };
    case 'setup_failed':
      return { tone: 'danger', text: words.setupFailed };
    case 'lost':
      return { tone: 'danger', text: words.lost };
  }
}

/** What was run, as one text: a command line or source code. */
export function commandText(execution: Pick<Execution, 'command'>): string {
  return textOf(execution.command);
}

/** The bytes that an execution has printed. */
export function printedBytes(execution: Execution): number {
  return execution.stdout_bytes + execution.stderr_bytes + execution.output_bytes;
}

/** How long it ran, or has been running until `now`. */
export function durationOf(execution: Execution, now: number): number | null {
  if (typeof execution.duration_ms === 'number') return execution.duration_ms;
  if (execution.state === 'queued') return null;
  const ended = execution.exited_at ? Date.parse(execution.exited_at) : now;
  return Math.max(0, ended - Date.parse(execution.started_at));
}
