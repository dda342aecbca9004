// The cases of crates/protocol/src/conversation/tests.rs, and that objects which do not change stay the same.
import { describe, expect, it } from 'vitest';
import { alternatives, branchTo } from './branches';
import { EMPTY, fold, fromSnapshot } from './fold';
import type { ConversationEvent, LogEntry, Message, Snapshot, ToolCallState } from './types';

const message = (id: string, parent: string | null, role: Message['role']): ConversationEvent => ({
  type: 'message_added',
  message: { id, parent_id: parent, role },
});
const log = (events: ConversationEvent[]): LogEntry[] =>
  events.map((event, index) => ({ seq: index + 1, at_ms: (index + 1) * 10, ...event }));
const inA = { message_id: 'a', part_id: 't' };

const answer = (): ConversationEvent[] => [
  message('q', null, 'user'),
  { type: 'turn_started', turn_id: 'turn' },
  message('a', 'q', 'assistant'),
  { type: 'step_started', message_id: 'a', step: 1, attempt: 1 },
  { type: 'text_started', ...inA },
  { type: 'text_delta', ...inA, text: 'Hello ' },
  { type: 'text_delta', ...inA, text: 'you' },
  { type: 'text_ended', ...inA, text: 'Hello you' },
  { type: 'step_ended', message_id: 'a', usage: { input_tokens: 3, output_tokens: 2, cost_usd: 0.5 } },
  { type: 'turn_ended', turn_id: 'turn', outcome: 'completed' },
];

const tool = (): ConversationEvent[] => [
  ...answer().slice(0, 4),
  { type: 'tool_call_started', message_id: 'a', tool_call_id: 'c', tool: 'shell' },
  { type: 'tool_call_delta', tool_call_id: 'c', text: '{"command' },
  { type: 'tool_call_ready', message_id: 'a', tool_call_id: 'c', tool: 'shell', input: { command: ['ls'] } },
  { type: 'approval_requested', tool_call_id: 'c', approval: { approval_id: 'p', text: 'ls', fingerprint: 'f' } },
  { type: 'approval_answered', tool_call_id: 'c', approval_id: 'p', decision: 'allow_once', by: 'ann' },
  { type: 'tool_call_running', tool_call_id: 'c', execution_id: 'exe_1' },
  { type: 'tool_call_ended', tool_call_id: 'c', state: 'succeeded', output: { text: 'x' }, execution_ids: ['exe_1'] },
];

const call = (entries: LogEntry[]) => {
  const part = fold(EMPTY, entries).messages.at(-1)?.parts?.at(-1);
  return part?.type === 'tool_call' ? part : null;
};

describe('fold', () => {
  it('gives the same conversation without the deltas of ended parts', () => {
    const whole = log(answer());
    const short = whole.filter(({ type }) => type !== 'text_delta');
    const state = fold(EMPTY, whole);
    expect(fold(EMPTY, short)).toEqual(state);
    expect(state.turn?.outcome).toBe('completed');
    expect(state.messages[1]?.parts?.at(-1)).toMatchObject({ type: 'text', text: 'Hello you', is_streaming: false });
  });

  it.each([
    ['a text', answer()],
    ['a tool call', tool()],
  ])('gives the same for %s that is cut anywhere, resumed, and seen twice', (_name, events) => {
    const whole = log(events);
    const once = fold(EMPTY, whole);
    for (let seen = 0; seen <= whole.length; seen += 1) {
      const first = fold(EMPTY, whole.slice(0, seen));
      expect(fold(first, whole)).toEqual(once);
      expect(whole.reduce((state, entry) => fold(state, [entry, entry]), first)).toEqual(once);
    }
    expect(fold(once, whole)).toBe(once);
  });

  it('continues a snapshot', () => {
    const whole = log(tool());
    const half = fold(EMPTY, whole.slice(0, 6));
    const snapshot = JSON.parse(
      JSON.stringify({ ...half, last_seq: half.lastSeq, leaf_id: half.leaf }),
    ) as unknown as Snapshot;
    expect(fold(fromSnapshot(snapshot), whole)).toEqual(fold(EMPTY, whole));
  });

  it('does not change a state that it was given', () => {
    const whole = log(tool());
    let state = EMPTY;
    for (const entry of whole) {
      const before = structuredClone(state);
      const next = fold(state, [entry]);
      expect(state).toEqual(before);
      state = next;
    }
  });

  it('keeps the objects of what does not change', () => {
    const before = fold(EMPTY, log(answer()).slice(0, 6));
    const after = fold(before, log(answer()).slice(0, 7));
    expect(after.messages[0]).toBe(before.messages[0]);
    expect(after.messages[1]).not.toBe(before.messages[1]);
    expect(after.messages[1]?.parts?.[0]).toBe(before.messages[1]?.parts?.[0]);
    expect(after.queue).toBe(before.queue);
  });

  it('leaves a notice and no part of a discarded step', () => {
    const events = [
      ...answer().slice(0, 7),
      { type: 'tool_call_started', message_id: 'a', tool_call_id: 'c', tool: 'wait' } as const,
      { type: 'step_discarded', message_id: 'a', reason: 'it broke off' } as const,
    ];
    expect(fold(EMPTY, log(events)).messages[1]?.parts).toEqual([{ type: 'notice', text: 'it broke off' }]);
  });

  it('follows the state of a tool call', () => {
    const whole = log(tool());
    const states = [5, 6, 7, 8, 9, 10, 11].map((end) => call(whole.slice(0, end))?.state);
    const expected: ToolCallState[] = ['writing', 'writing', 'ready', 'waiting', 'waiting', 'running', 'succeeded'];
    expect(states).toEqual(expected);
    expect(call(whole)).toMatchObject({
      input_text: '',
      started_at_ms: 100,
      ended_at_ms: 110,
      execution_ids: ['exe_1'],
      approval: { decision: 'allow_once', decided_by: 'ann' },
    });
  });

  it('adds up what the model used', () => {
    const events = [...answer().slice(0, 9), answer()[8] as ConversationEvent];
    expect(fold(EMPTY, log(events)).messages[1]?.usage).toEqual({
      input_tokens: 6,
      cached_tokens: 0,
      output_tokens: 4,
      cost_usd: 1,
    });
  });

  it('removes a queued message when it is added or withdrawn', () => {
    const queued = (id: string): ConversationEvent => ({
      type: 'message_queued',
      message_id: id,
      parts: [{ type: 'text', text: id }],
      delivery: 'queue',
    });
    const events = [queued('x'), queued('y'), queued('z'), message('y', null, 'user')];
    const state = fold(EMPTY, log([...events, { type: 'message_unqueued', message_id: 'x' }]));
    expect(state.queue.map(({ message_id }) => message_id)).toEqual(['z']);
  });
});

describe('branches', () => {
  const state = fold(
    EMPTY,
    log([
      message('q1', null, 'user'),
      message('a1', 'q1', 'assistant'),
      message('q2', 'a1', 'user'),
      message('a1b', 'q1', 'assistant'),
    ]),
  );
  const ids = (branch: Message[]): string => branch.map(({ id }) => id).join(' ');

  it('shows the newest one, and each other one', () => {
    expect(ids(branchTo(state.messages, state.leaf))).toBe('q1 a1b');
    expect(ids(branchTo(state.messages, 'q2'))).toBe('q1 a1 q2');
    expect(branchTo(state.messages, null)).toEqual([]);
  });

  it('knows the alternatives of a message', () => {
    const found = alternatives(state.messages);
    expect(found.get('a1')).toEqual({ at: 0, ids: ['a1', 'a1b'] });
    expect(found.get('a1b')?.at).toBe(1);
    expect(found.has('q1')).toBe(false);
  });
});
