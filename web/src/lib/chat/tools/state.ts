// How a tool call stands. Every part of a card shows this state and decides nothing itself.
import { chat as words } from '../../strings/chat';
import type { Exit } from '../../runs/events';
import { endWords } from '../../runs/words';
import type { Tone } from '../../ui';
import { nameOf, type CardKind } from './describe';
import type { ToolCall, TurnOutcome } from '../types';

export interface CardState {
  /** For tests and styles. */
  name:
    | 'writing'
    | 'ready'
    | 'approval'
    | 'question'
    | 'running'
    | 'background'
    | 'succeeded'
    | 'failed'
    | 'denied'
    | 'stopped';
  label: string;
  tone: Tone;
  /** Whether something still happens: the time ticks and the icon pulses. */
  isLive: boolean;
  /** Whether the card opens by itself. */
  mustShow: boolean;
  /** The exit code of the program, if it has one. */
  exitCode: number | null;
  durationMs: number | null;
}

/** What is known about the execution of a call, or about the sub-agent that it started. */
export interface Run {
  exit: Exit | null;
  durationMs: number | null;
  isRunning: boolean;
  /** How the turn of the sub-agent ended. */
  outcome?: TurnOutcome | null;
}

/** `run` is null while neither is known, and for calls without one. */
export function cardState(call: ToolCall, kind: CardKind, run: Run | null): CardState {
  const exitCode = run?.exit?.code ?? exitCodeOf(call.output?.structured) ?? null;
  const took =
    call.started_at_ms != null && call.ended_at_ms != null ? Math.max(0, call.ended_at_ms - call.started_at_ms) : null;
  const durationMs = run?.durationMs ?? took;
  const make = (name: CardState['name'], label: string, tone: Tone, more: Partial<CardState> = {}): CardState => ({
    name,
    label,
    tone,
    isLive: false,
    mustShow: false,
    exitCode,
    durationMs,
    ...more,
  });
  const say = words.state;
  switch (call.state) {
    case 'writing':
      return make('writing', say.writing, 'neutral', { isLive: true, mustShow: kind === 'output' });
    case 'ready':
      return make('ready', say.ready, 'neutral');
    case 'waiting':
      if (call.input_request && !call.input_request.answers) {
        return make('question', say.question, 'warning', { mustShow: true });
      }
      if (call.approval && !call.approval.decision)
        return make('approval', say.approval, 'warning', { mustShow: true });
      return make('ready', say.ready, 'neutral');
    case 'running':
      return make('running', kind === 'output' ? say.command : say.running, 'running', {
        isLive: true,
        mustShow: true,
      });
    case 'denied':
      return make('denied', say.denied, 'warning');
    case 'stopped':
      return make('stopped', say.stopped, 'warning', { mustShow: true });
    case 'failed':
      return make('failed', endOf(run, exitCode) ?? say.failed, 'danger', { mustShow: true });
    case 'succeeded':
      if (run?.isRunning) {
        const label = kind === 'agent' ? say.running : say.background;
        return make('background', label, 'running', { isLive: true, mustShow: kind === 'agent' });
      }
      if (run?.outcome === 'failed') return make('failed', say.failed, 'danger', { mustShow: true });
      if (run?.outcome === 'stopped') return make('stopped', say.stopped, 'warning');
      if (exitCode !== null && exitCode !== 0) {
        return make('failed', endOf(run, exitCode) ?? say.failed, 'danger', { mustShow: true });
      }
      if (run?.exit && run.exit.reason !== 'exited') {
        return make('failed', endWords(run.exit, null), 'danger', { mustShow: true });
      }
      return make('succeeded', exitCode === 0 ? say.exited(0) : say.succeeded, 'success');
  }
}

/** The same in a sentence, for people who do not see the card. */
export function statusOf(call: ToolCall): string {
  const name = nameOf(call);
  if (call.state === 'waiting') return call.input_request ? words.state.question : words.state.approval;
  if (call.state === 'succeeded') return words.message.finished(name);
  if (call.state === 'failed') return words.message.failed(name);
  return words.message.using(name);
}

function endOf(run: Run | null, exitCode: number | null): string | null {
  if (run?.exit && run.exit.reason !== 'exited') return endWords(run.exit, null);
  return exitCode === null ? null : words.state.exited(exitCode);
}

/** The exit code in the result of a tool that ran a program. */
function exitCodeOf(structured: unknown): number | undefined {
  if (typeof structured !== 'object' || structured === null) return undefined;
  const { exit_code: code } = structured as { exit_code?: unknown };
  return typeof code === 'number' ? code : undefined;
}
