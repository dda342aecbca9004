import { describe, expect, it } from 'vitest';
import { buttonsOf, defaultAction, IDLE, next, programOf, targetOf, type RunEvent, type RunState } from './runbar';

const registry = [
  { name: 'python', suffixes: ['py'], available: true },
  { name: 'cpp', suffixes: ['cpp', 'C'], available: true },
  { name: 'c', suffixes: ['c'], available: true },
  { name: 'rust', suffixes: ['rs'], available: true },
  { name: 'lua', suffixes: ['lua'], available: false, package: 'lua5.4' },
];

const after = (...events: RunEvent[]): RunState => events.reduce(next, IDLE);
const actions = (path: string, state = IDLE) =>
  buttonsOf(targetOf(path, registry), state).map((button) => button.action);

describe('run bar', () => {
  it('has the buttons of the suffix', () => {
    expect(actions('main.py')).toEqual(['run']);
    expect(actions('main.rs')).toEqual(['run']);
    expect(actions('main.cpp')).toEqual(['build', 'build-and-run']);
    expect(actions('main.c')).toEqual(['build', 'build-and-run']);
    expect(actions('CMakeLists.txt')).toEqual(['build', 'build-and-run']);
    expect(actions('Makefile')).toEqual(['build', 'build-and-run']);
    expect(actions('notes.txt')).toEqual([]);
    expect(actions('main.lua')).toEqual([]);
    expect(targetOf('main.lua', registry)).toEqual({ kind: 'missing', label: 'Lua', package: 'lua5.4' });
  });

  it('uses the colours and icons of the requirements', () => {
    expect(buttonsOf(targetOf('a.py', registry), IDLE)[0]).toMatchObject({ tone: 'green', icon: 'python' });
    const built = after({ type: 'press', action: 'build' }, { type: 'saved' }, { type: 'built', binary: 'build/a' });
    expect(buttonsOf(targetOf('a.cpp', registry), built)).toMatchObject([
      { action: 'build', tone: 'yellow', icon: 'hammer' },
      { action: 'run-binary', tone: 'blue', icon: 'play' },
      { action: 'build-and-run', tone: 'purple', icon: 'zap' },
    ]);
  });

  it('runs a program: save, start, run, end', () => {
    let state = after({ type: 'press', action: 'run' });
    expect(state.phase).toBe('saving');
    expect(buttonsOf(targetOf('a.py', registry), state)[0]).toMatchObject({ busy: true, disabled: true });
    state = next(state, { type: 'saved' });
    expect(state.phase).toBe('starting');
    state = next(state, { type: 'started' });
    expect(state.phase).toBe('running');
    expect(next(state, { type: 'ended' })).toEqual(IDLE);
  });

  it('builds and runs on the first click', () => {
    const state = after(
      { type: 'press', action: 'build-and-run' },
      { type: 'saved' },
      { type: 'built', binary: 'build/main' },
    );
    expect(state).toEqual({ phase: 'starting', action: 'build-and-run', binary: 'build/main' });
  });

  it('shows Run Binary only after a build that succeeded, until the file changes', () => {
    const failed = after({ type: 'press', action: 'build' }, { type: 'saved' }, { type: 'build-failed' });
    expect(actions('a.cpp', failed)).not.toContain('run-binary');
    const built = after({ type: 'press', action: 'build' }, { type: 'saved' }, { type: 'built', binary: 'build/a' });
    expect(actions('a.cpp', built)).toContain('run-binary');
    expect(actions('a.cpp', next(built, { type: 'edited' }))).not.toContain('run-binary');
    const again = next(next(built, { type: 'press', action: 'build' }), { type: 'saved' });
    expect(again.binary).toBe(null);
  });

  it('ignores a second press and late answers', () => {
    const running = after({ type: 'press', action: 'run' }, { type: 'saved' }, { type: 'started' });
    expect(next(running, { type: 'press', action: 'run' })).toBe(running);
    expect(next(running, { type: 'built', binary: 'x' })).toBe(running);
    expect(next(IDLE, { type: 'ended' })).toBe(IDLE);
    expect(next(IDLE, { type: 'started' })).toBe(IDLE);
  });

  it('returns to idle from every phase when something fails, and keeps the binary', () => {
    const state = after(
      { type: 'press', action: 'build-and-run' },
      { type: 'saved' },
      { type: 'built', binary: 'b' },
      { type: 'failed' },
    );
    expect(state).toEqual({ phase: 'idle', action: null, binary: 'b' });
  });

  it('knows what Ctrl+Enter does', () => {
    expect(defaultAction(targetOf('a.py', registry))).toBe('run');
    expect(defaultAction(targetOf('a.cpp', registry))).toBe('build-and-run');
    expect(defaultAction(targetOf('a.txt', registry))).toBe(null);
  });

  it('finds the program among artifacts', () => {
    expect(programOf(['build/main'], 'build/main')).toBe('build/main');
    expect(programOf(['build/compile_commands.json', 'build/libx.so.1', 'build/app'], null)).toBe('build/app');
    expect(programOf(['build/compile_commands.json'], null)).toBe(null);
  });
});
