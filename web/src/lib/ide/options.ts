// What the run panel sets for every run of a session: arguments, input, variables, limits. Pure.
import type { Limits, StartRequest } from 'headwater';
import { parseVariables, splitWords } from './words';

export interface RunOptions {
  args: string;
  stdin: 'open' | 'text' | 'none';
  stdinText: string;
  env: string;
  /** Seconds; empty: the session's limit. */
  timeout: string;
  /** MiB; empty: the session's limit. */
  memory: string;
}

export const DEFAULT_OPTIONS: RunOptions = { args: '', stdin: 'open', stdinText: '', env: '', timeout: '', memory: '' };

/** Whether a limit is empty or a number above 0. */
export function isLimit(text: string): boolean {
  return text.trim() === '' || Number(text) > 0;
}

/** The fields of a start request. A field that is not valid is left out; the panel says so. */
export function requestOf(options: RunOptions): Pick<StartRequest, 'args' | 'env' | 'stdin' | 'timeout_ms' | 'limits'> {
  const { env } = parseVariables(options.env);
  const limits: Limits = {};
  const memory = Number(options.memory);
  if (options.memory.trim() !== '' && memory > 0) limits.memory_bytes = Math.round(memory * 1024 * 1024);
  const seconds = Number(options.timeout);
  return {
    args: splitWords(options.args),
    env,
    stdin: options.stdin === 'text' ? { text: options.stdinText } : options.stdin,
    ...(options.timeout.trim() !== '' && seconds > 0 ? { timeout_ms: Math.round(seconds * 1000) } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
  };
}

/** How many options differ from the defaults: the run bar shows it. */
export function changedOptions(options: RunOptions): number {
  const names = Object.keys(DEFAULT_OPTIONS) as (keyof RunOptions)[];
  return names.filter((name) => name !== 'stdinText' && options[name] !== DEFAULT_OPTIONS[name]).length;
}

/** Reads remembered options. */
export function readRunOptions(stored: unknown): RunOptions {
  if (typeof stored !== 'object' || stored === null) return { ...DEFAULT_OPTIONS };
  const from = stored as Partial<Record<keyof RunOptions, unknown>>;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    args: text(from.args),
    stdin: from.stdin === 'text' || from.stdin === 'none' ? from.stdin : 'open',
    stdinText: text(from.stdinText),
    env: text(from.env),
    timeout: text(from.timeout),
    memory: text(from.memory),
  };
}
