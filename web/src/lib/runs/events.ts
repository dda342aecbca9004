// The events of an execution, and the small state that follows from them. The lines are in `document.ts`.
import type { Stream } from './row';

/** How a program ended, as in the event `exited` and in the execution. */
export interface Exit {
  reason: string;
  code?: number | null;
  signal?: number | null;
  message?: string | null;
  detail?: ExitDetail | null;
}

/** For programs: what exactly happened. Later versions of the server may add kinds. */
export interface ExitDetail {
  kind: string;
  name?: string;
  path?: string;
  after_ms?: number;
  which?: string;
  limit?: number;
}

export interface OutputEvent {
  type: Stream;
  seq: number;
  at_ms: number;
  offset: number;
  text?: string | null;
  base64?: string | null;
}

export interface GapEvent {
  type: 'gap';
  seq: number;
  at_ms: number;
  stream: Stream;
  from_byte: number;
  to_byte: number;
}

export interface ExitedEvent extends Exit {
  type: 'exited';
  seq: number;
  at_ms: number;
  duration_ms: number;
  usage?: { cpu_ms: number; max_rss_bytes: number } | null;
}

export type LogEvent =
  | { type: 'started'; seq: number; at_ms: number; pid: number }
  | OutputEvent
  | GapEvent
  | ExitedEvent
  | { type: 'closed'; seq: number; at_ms: number };

export type Phase = 'unknown' | 'queued' | 'running' | 'exited' | 'closed';

/** What the events say about an execution. It is replaced, never changed. */
export interface RunState {
  readonly lastSeq: number;
  readonly phase: Phase;
  readonly exit: Exit | null;
  readonly durationMs: number | null;
  readonly usage: { cpu_ms: number; max_rss_bytes: number } | null;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly outputBytes: number;
  readonly gapBytes: number;
  /** Milliseconds since the start, of the last output. */
  readonly lastOutputAt: number | null;
}

export const NEW_RUN: RunState = {
  lastSeq: 0,
  phase: 'unknown',
  exit: null,
  durationMs: null,
  usage: null,
  stdoutBytes: 0,
  stderrBytes: 0,
  outputBytes: 0,
  gapBytes: 0,
  lastOutputAt: null,
};

const END_OF = { stdout: 'stdoutBytes', stderr: 'stderrBytes', output: 'outputBytes' } as const;

/** Returns how many bytes of a stream were written, as far as the events say. */
export function streamEnd(state: RunState, stream: Stream): number {
  return state[END_OF[stream]];
}

/** Returns the state after an event, and the same object if the event was seen before. */
export function reduce(state: RunState, event: LogEvent): RunState {
  // A gap may have the seq of the event before it.
  const isSeen = event.type === 'gap' ? event.to_byte <= streamEnd(state, event.stream) : event.seq <= state.lastSeq;
  if (isSeen || event.seq < state.lastSeq) return state;
  const next = { ...state, lastSeq: event.seq };
  switch (event.type) {
    case 'started':
      return { ...next, phase: 'running' };
    case 'stdout':
    case 'stderr':
    case 'output': {
      const size = byteLength(event);
      const phase = state.phase === 'unknown' || state.phase === 'queued' ? 'running' : state.phase;
      return { ...next, phase, lastOutputAt: event.at_ms, [END_OF[event.type]]: event.offset + size };
    }
    case 'gap': {
      const gapBytes = state.gapBytes + event.to_byte - event.from_byte;
      return { ...next, gapBytes, [END_OF[event.stream]]: event.to_byte };
    }
    case 'exited': {
      const { reason, code, signal, message, detail } = event;
      return {
        ...next,
        phase: 'exited',
        exit: { reason, code, signal, message, detail },
        durationMs: event.duration_ms,
        usage: event.usage ?? null,
      };
    }
    case 'closed':
      return { ...next, phase: 'closed' };
  }
}

/** Returns the number of bytes of an output event. */
export function byteLength(event: OutputEvent): number {
  if (typeof event.base64 === 'string') {
    const padding = event.base64.endsWith('==') ? 2 : event.base64.endsWith('=') ? 1 : 0;
    return (event.base64.length / 4) * 3 - padding;
  }
  return utf8Length(event.text ?? '');
}

/** Returns the length of text in UTF-8. */
export function utf8Length(text: string): number {
  // Text without other characters is by far the most common, and its test is quick.
  if (!/[^\x00-\x7f]/.test(text)) return text.length;
  let size = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 0x80) size += 1;
    else if (code < 0x800) size += 2;
    else if (code >= 0xd800 && code <= 0xdbff) {
      size += 4;
      i += 1;
    } else size += 3;
  }
  return size;
}
