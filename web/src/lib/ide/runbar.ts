// The run bar as a state machine without a view: which buttons a file has, what each does, and what it shows while
// something builds or runs.
import { labelOf, languageOf, type KnownLanguage } from './languages';
import { join, nameOf, stemOf } from './paths';

export type RunAction = 'run' | 'build' | 'run-binary' | 'build-and-run';

/** How a file can be run. */
export type Target =
  | { kind: 'language'; language: string; label: string }
  | { kind: 'compiled'; language: 'c' | 'cpp'; label: string; binary: string }
  | { kind: 'project'; tool: 'cmake' | 'make'; label: string }
  | { kind: 'missing'; label: string; package: string | null }
  | { kind: 'none' };

/** Decides how a file runs. C and C++ are built by the build routes, everything else runs as code of its language. */
export function targetOf(path: string, registry: readonly KnownLanguage[]): Target {
  const name = nameOf(path);
  if (name === 'CMakeLists.txt') return { kind: 'project', tool: 'cmake', label: 'CMake' };
  if (/^(GNUm|M|m)akefile$/.test(name)) return { kind: 'project', tool: 'make', label: 'Make' };
  const language = languageOf(path, registry);
  if (language === null) return { kind: 'none' };
  const label = labelOf(language.name);
  if (!language.available) return { kind: 'missing', label, package: language.package ?? null };
  if (language.name === 'c' || language.name === 'cpp') {
    return { kind: 'compiled', language: language.name, label, binary: binaryOf(path) };
  }
  return { kind: 'language', language: language.name, label };
}

/** Where the binary of a source file is put. */
export function binaryOf(path: string): string {
  return join('build', stemOf(path));
}

/** What happens with a file at the moment. */
export type Phase = 'idle' | 'saving' | 'building' | 'starting' | 'running';

/** The state of the run bar for one file. `binary` is the result of its last successful build. */
export interface RunState {
  phase: Phase;
  action: RunAction | null;
  binary: string | null;
}

export const IDLE: RunState = { phase: 'idle', action: null, binary: null };

export type RunEvent =
  | { type: 'press'; action: RunAction }
  | { type: 'saved' }
  | { type: 'built'; binary: string | null }
  | { type: 'build-failed' }
  | { type: 'started' }
  | { type: 'ended' }
  | { type: 'failed' }
  | { type: 'edited' };

/** The next state. Events that do not fit the phase change nothing, so a late answer cannot restart anything. */
export function next(state: RunState, event: RunEvent): RunState {
  switch (event.type) {
    case 'press':
      return state.phase === 'idle' ? { ...state, phase: 'saving', action: event.action } : state;
    case 'saved':
      if (state.phase !== 'saving') return state;
      return state.action === 'build' || state.action === 'build-and-run'
        ? { ...state, phase: 'building', binary: null }
        : { ...state, phase: 'starting' };
    case 'built':
      if (state.phase !== 'building') return state;
      return state.action === 'build-and-run' && event.binary !== null
        ? { ...state, phase: 'starting', binary: event.binary }
        : { phase: 'idle', action: null, binary: event.binary };
    case 'build-failed':
      return state.phase === 'building' ? { phase: 'idle', action: null, binary: null } : state;
    case 'started':
      return state.phase === 'starting' ? { ...state, phase: 'running' } : state;
    case 'ended':
      return state.phase === 'running' ? { ...state, phase: 'idle', action: null } : state;
    case 'failed':
      return { ...state, phase: 'idle', action: null };
    case 'edited':
      // A binary of older text would run something else than what is on the screen.
      return state.binary === null || state.phase !== 'idle' ? state : { ...state, binary: null };
  }
}

export type Tone = 'green' | 'yellow' | 'blue' | 'purple';

export interface RunButton {
  action: RunAction;
  tone: Tone;
  icon: string;
  /** Whether this button was pressed and is still at work. */
  busy: boolean;
  disabled: boolean;
}

/** The buttons of a file, from left to right. */
export function buttonsOf(target: Target, state: RunState): RunButton[] {
  const button = (action: RunAction, tone: Tone, icon: string): RunButton => ({
    action,
    tone,
    icon,
    busy: state.action === action && state.phase !== 'idle',
    disabled: state.phase !== 'idle',
  });
  switch (target.kind) {
    case 'language':
      return [button('run', 'green', target.language)];
    case 'compiled':
    case 'project': {
      const buttons = [button('build', 'yellow', 'hammer')];
      if (state.binary !== null) buttons.push(button('run-binary', 'blue', 'play'));
      return [...buttons, button('build-and-run', 'purple', 'zap')];
    }
    case 'missing':
    case 'none':
      return [];
  }
}

/** What Ctrl+Enter does: the button that needs no other one first. */
export function defaultAction(target: Target): RunAction | null {
  if (target.kind === 'language') return 'run';
  return target.kind === 'compiled' || target.kind === 'project' ? 'build-and-run' : null;
}

/** The program among the artifacts of a build: `wanted` if it is there, else the first that looks like a program. */
export function programOf(artifacts: readonly string[], wanted: string | null): string | null {
  if (wanted !== null && artifacts.includes(wanted)) return wanted;
  return artifacts.find((path) => !/\.(o|a|so|json|txt|cmake|d)(\.[0-9.]+)?$/.test(path)) ?? null;
}
