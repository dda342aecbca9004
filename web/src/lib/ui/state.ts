// States of executions, sessions, builds and connections: their tone and their word.
import { strings } from '../strings/en';

export type Tone = 'neutral' | 'running' | 'success' | 'danger' | 'warning';

/** The part of an exit that decides how it looks. */
export interface Ended {
  reason: string;
  code?: number | null | undefined;
}

const tones: Record<string, Tone> = {
  queued: 'neutral',
  running: 'running',
  exited: 'success',
  closed: 'success',
  ready: 'success',
  hibernated: 'neutral',
  ended: 'neutral',
  succeeded: 'success',
  completed: 'success',
  failed: 'danger',
  cancelled: 'warning',
  timed_out: 'warning',
  signalled: 'danger',
  oom: 'danger',
  output_limit: 'danger',
  disk_limit: 'danger',
  setup_failed: 'danger',
  lost: 'danger',
  live: 'success',
  connecting: 'running',
  connected: 'success',
  reconnecting: 'warning',
  offline: 'danger',
  disabled: 'neutral',
  active: 'success',
};

/** How an execution stands, for a chip: its state while it runs, how it ended afterwards. */
export function executionState(state: string, exit?: Ended | null): string {
  if (!exit) return state;
  if (exit.reason === 'exited') return exit.code ? 'failed' : 'succeeded';
  return exit.reason;
}

export function toneOf(state: string): Tone {
  return tones[state] ?? 'neutral';
}

export function wordOf(state: string): string {
  const words: Record<string, string> = strings.states;
  return words[state] ?? state.replaceAll('_', ' ');
}
