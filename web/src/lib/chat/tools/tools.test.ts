// Arguments that are still being written, summaries, states and changes of tool calls.
import { describe as group, expect, it } from 'vitest';
import type { ToolCall, ToolCallState } from '../types';
import { changesOf, countChanges, readPatch } from './changes';
import { describe } from './describe';
import { partialJson } from './partialJson';
import { chat as words } from '../../strings/chat';
import { cardState, statusOf, type Run } from './state';

const call = (tool: string, input: unknown, more: Partial<ToolCall> = {}): ToolCall => ({
  tool_call_id: 'c',
  tool,
  state: 'ready',
  input,
  ...more,
});

group('partialJson', () => {
  const value = { cmd: 'echo "a\\b"\nü\u0001', list: [1, 'x', { deep: null }], flag: true };
  const whole = JSON.stringify(value);

  it('reads the whole as it is', () => expect(partialJson(whole)).toEqual(value));

  it('reads what is there at every cut, and it only grows', () => {
    let before = '';
    for (let end = 0; end <= whole.length; end += 1) {
      const part = partialJson(whole.slice(0, end)) as { cmd?: string } | undefined;
      const cmd = part?.cmd ?? '';
      expect(cmd.startsWith(before), whole.slice(0, end)).toBe(true);
      expect(value.cmd.startsWith(cmd), whole.slice(0, end)).toBe(true);
      before = cmd;
    }
  });

  it.each(['', '[', '{"a":', '{"__proto__":{"x":1}', '}', '{"a":tru', '[[[[', '[,', '{,}', '"\\'])(
    'survives %s',
    (text) => {
      partialJson(text);
      expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    },
  );

  it('does not follow a deep nesting for ever', () => {
    expect(Array.isArray(partialJson('['.repeat(100_000)))).toBe(true);
  });
});

group('describe', () => {
  it('shows a command while its arguments stream in', () => {
    const writing = call('exec_command', undefined, { state: 'writing', input_text: '{"cmd":"npm ins' });
    expect(describe(writing)).toMatchObject({ kind: 'output', command: 'npm ins', summary: 'npm ins' });
  });

  it.each([
    ['shell', { command: ['bash', '-lc', 'ls -l'] }, 'ls -l'],
    ['shell', { command: ['printf', "it's", 'a b'] }, "printf 'it'\\''s' 'a b'"],
    ['shell_command', { command: 'a\n  b' }, 'a b'],
    ['run_code', { language: 'python', code: 'import os\n\nprint(1)' }, 'python: print(1)'],
    ['code_execution', { runtime: 'terminal', code: 'echo "Hello"' }, 'echo "Hello"'],
    ['read_file', { file_path: 'src/a.rs' }, 'src/a.rs'],
    ['apply_patch', { input: '*** Begin Patch\n*** Add File: a.txt\n+x\n*** Delete File: b.txt\n' }, 'a.txt, b.txt'],
    ['mcp__x__y', { query: 'words' }, 'words'],
    ['nothing', null, ''],
  ])('sums up %s', (tool, input, summary) => expect(describe(call(tool, input)).summary).toBe(summary));

  it('cuts a long summary', () => {
    expect(describe(call('exec_command', { cmd: 'x'.repeat(5000) })).summary).toHaveLength(200);
  });
});

group('cardState', () => {
  const run = (code: number | null, isRunning = false, reason = 'exited'): Run =>
    ({ exit: code === null ? null : { reason, code }, durationMs: 5, isRunning }) as unknown as Run;
  const state = (at: ToolCallState, ran: Run | null = null, more: Partial<ToolCall> = {}) =>
    cardState(call('exec_command', {}, { state: at, ...more }), 'output', ran);

  it.each([
    ['writing', null, 'writing'],
    ['ready', null, 'ready'],
    ['running', run(null, true), 'running'],
    ['succeeded', run(0), 'succeeded'],
    ['succeeded', run(3), 'failed'],
    ['succeeded', run(null, true), 'background'],
    ['succeeded', run(137, false, 'oom'), 'failed'],
    ['failed', null, 'failed'],
    ['denied', null, 'denied'],
    ['stopped', run(null), 'stopped'],
  ] as [ToolCallState, Run | null, string][])('%s is shown', (at, ran, name) => expect(state(at, ran).name).toBe(name));

  it('waits for consent or an answer until there is one', () => {
    const approval = { approval_id: 'p', text: 'ls', fingerprint: 'f' };
    expect(state('waiting', null, { approval })).toMatchObject({ name: 'approval', mustShow: true });
    expect(state('waiting', null, { approval: { ...approval, decision: 'deny' } }).name).toBe('ready');
    const questions = [{ id: 'q', header: 'h', question: '?' }];
    expect(state('waiting', null, { input_request: { questions } }).name).toBe('question');
    expect(state('waiting', null, { input_request: { questions, answers: [] } }).name).toBe('ready');
  });

  it('goes on with the sub-agent that it started', () => {
    const agent = (isRunning: boolean, outcome: Run['outcome'] = null) =>
      cardState(call('spawn_agent', {}, { state: 'succeeded' }), 'agent', {
        exit: null,
        durationMs: null,
        isRunning,
        outcome,
      });
    expect(agent(true)).toMatchObject({ label: words.state.running, isLive: true, mustShow: true });
    expect(agent(false, 'completed').name).toBe('succeeded');
    expect(agent(false, 'failed').name).toBe('failed');
    expect(agent(false, 'stopped').name).toBe('stopped');
  });

  it('is said in a sentence', () => {
    const said = (at: ToolCallState, tool = 'code_execution') => statusOf(call(tool, {}, { state: at }));
    expect(said('writing')).toBe('The agent is using Code…');
    expect(said('running', 'mcp__x__y')).toBe('The agent is using mcp__x__y…');
    expect(said('succeeded')).toBe('Tool Code finished.');
    expect(said('failed')).toBe('Tool Code failed.');
    expect(said('waiting')).toBe(words.state.approval);
  });

  it('takes the exit code from the execution, else from the result', () => {
    const output = { text: '', structured: { exit_code: 2 } };
    expect(state('succeeded', null, { output })).toMatchObject({ exitCode: 2, name: 'failed' });
    expect(state('succeeded', run(0), { output }).exitCode).toBe(0);
    expect(state('succeeded', null, { started_at_ms: 10, ended_at_ms: 30 }).durationMs).toBe(20);
  });
});

group('changes', () => {
  const patch = `*** Begin Patch
*** Add File: a.txt
+one
*** Update File: b.py
*** Move to: c.py
@@ def f():
 same
-old
+new
*** Delete File: d.txt
*** End Patch`;

  it('reads a patch, also if it is cut anywhere', () => {
    const files = readPatch(patch);
    expect(files.map(({ action, path, moveTo }) => [action, path, moveTo])).toEqual([
      ['add', 'a.txt', null],
      ['update', 'b.py', 'c.py'],
      ['delete', 'd.txt', null],
    ]);
    expect(files[1]?.lines.map(({ kind }) => kind)).toEqual(['gap', 'same', 'left', 'right']);
    expect(countChanges(files)).toEqual({ added: 2, removed: 1 });
    for (let end = 0; end < patch.length; end += 1) readPatch(patch.slice(0, end));
  });

  it('shows what an edit changes and what a file contains', () => {
    const edit = changesOf(call('edit_file', { file_path: 'a', old_string: 'x\ny', new_string: 'x\nz' }));
    expect(edit[0]?.lines.map(({ kind, text }) => kind + text)).toEqual(['samex', 'lefty', 'rightz']);
    const written = changesOf(call('write_file', { file_path: 'a', content: '1\n2\n' }));
    expect(written[0]?.lines.map(({ text }) => text)).toEqual(['1', '2']);
  });
});
