// A conversation as a pure function of its log, as crates/protocol/src/conversation/fold.rs. Entries that were seen
// before are ignored. Objects that do not change stay the same, so that views redraw only what did.
import type {
  LogEntry,
  Message,
  ModelUsage,
  Part,
  PlanStep,
  QueuedMessage,
  Snapshot,
  ToolCall,
  ToolCallPart,
  Turn,
} from './types';

export interface ConversationState {
  readonly lastSeq: number;
  readonly title: string | null;
  /** All messages of all branches, in the order in which they were added. */
  readonly messages: readonly Message[];
  /** The last message of the current branch. */
  readonly leaf: string | null;
  /** The last turn. */
  readonly turn: Turn | null;
  readonly plan: readonly PlanStep[];
  readonly queue: readonly QueuedMessage[];
}

export const EMPTY: ConversationState = {
  lastSeq: 0,
  title: null,
  messages: [],
  leaf: null,
  turn: null,
  plan: [],
  queue: [],
};

/** The state that a snapshot describes. */
export function fromSnapshot(snapshot: Snapshot): ConversationState {
  return {
    lastSeq: snapshot.last_seq,
    title: snapshot.title ?? null,
    messages: snapshot.messages,
    leaf: snapshot.leaf_id ?? null,
    turn: snapshot.turn ?? null,
    plan: snapshot.plan,
    queue: snapshot.queue,
  };
}

/** Returns the state after some entries, and the same object if all of them were seen before. */
export function fold(state: ConversationState, entries: Iterable<LogEntry>): ConversationState {
  const draft = new Draft(state);
  for (const entry of entries) draft.apply(entry);
  return draft.state;
}

type Changeable = { -readonly [Key in keyof ConversationState]: ConversationState[Key] };

/** The next state while it is made: what changes is copied once for all entries that are applied together. */
class Draft {
  state: ConversationState;
  #next: Changeable | null = null;
  #messages: Message[] | null = null;
  /** Messages and parts that belong to this draft alone. */
  readonly #own = new Set<object>();

  constructor(state: ConversationState) {
    this.state = state;
  }

  apply(entry: LogEntry): void {
    if (entry.seq <= this.state.lastSeq) return;
    if (this.#next === null) {
      this.#next = { ...this.state };
      this.state = this.#next;
    }
    this.#next.lastSeq = entry.seq;
    this.#conversation(entry, this.#next);
    this.#text(entry);
    this.#call(entry);
  }

  #conversation(entry: LogEntry, next: Changeable): void {
    switch (entry.type) {
      case 'message_added':
        return this.#add(entry.message, entry.at_ms, next);
      case 'branch_selected':
        next.leaf = entry.message_id;
        return;
      case 'turn_started': {
        const { turn_id, model = null, seq, at_ms } = entry;
        next.turn = { turn_id, model, first_seq: seq, started_at_ms: at_ms, outcome: null, error: null };
        return;
      }
      case 'turn_ended':
        if (next.turn?.turn_id !== entry.turn_id) return;
        next.turn = { ...next.turn, outcome: entry.outcome, error: entry.error ?? null };
        return;
      case 'plan_updated':
        next.plan = entry.plan;
        return;
      case 'message_queued': {
        const { message_id, parts, author = null, delivery } = entry;
        next.queue = [...next.queue, { message_id, parts, author, delivery }];
        return;
      }
      case 'message_unqueued':
        next.queue = next.queue.filter((queued) => queued.message_id !== entry.message_id);
        return;
      case 'title_changed':
        next.title = entry.title;
        return;
    }
  }

  #text(entry: LogEntry): void {
    switch (entry.type) {
      case 'step_started':
        return this.#push(entry.message_id, { type: 'step', number: entry.step });
      case 'step_discarded':
        return this.#discard(entry.message_id, entry.reason);
      case 'step_ended':
        return this.#endStep(entry.message_id, entry.usage);
      case 'noticed':
        return this.#push(entry.message_id, { type: 'notice', text: entry.text });
      case 'text_started': {
        const type = entry.reasoning ? 'reasoning' : 'text';
        return this.#push(entry.message_id, { type, part_id: entry.part_id, text: '', is_streaming: true });
      }
      case 'text_delta': {
        const part = this.#textPart(entry.message_id, entry.part_id);
        if (part) part.text += entry.text;
        return;
      }
      case 'text_ended': {
        const { message_id, part_id, text } = entry;
        const part = this.#textPart(message_id, part_id);
        if (part) Object.assign(part, { text, is_streaming: false });
        else this.#push(message_id, { type: entry.reasoning ? 'reasoning' : 'text', part_id, text });
      }
    }
  }

  #call(entry: LogEntry): void {
    switch (entry.type) {
      case 'tool_call_started':
        return this.#startCall(entry.message_id, entry.tool_call_id, entry.tool);
      case 'tool_call_ready':
        this.#startCall(entry.message_id, entry.tool_call_id, entry.tool);
        return this.#change(entry.tool_call_id, { state: 'ready', input_text: '', input: entry.input });
      case 'tool_call_delta':
        return this.#change(entry.tool_call_id, (call) => ({ input_text: (call.input_text ?? '') + entry.text }));
      case 'tool_call_running':
        return this.#change(entry.tool_call_id, (call) => ({
          state: 'running',
          started_at_ms: call.started_at_ms ?? entry.at_ms,
          execution_ids: joined(call.execution_ids, entry.execution_id ? [entry.execution_id] : []),
          child_id: entry.child_id ?? call.child_id ?? null,
        }));
      case 'approval_requested':
        return this.#change(entry.tool_call_id, { state: 'waiting', approval: entry.approval });
      case 'approval_answered':
        return this.#change(entry.tool_call_id, ({ approval }) => {
          if (approval?.approval_id !== entry.approval_id) return {};
          const { decision, reason = null, by = null } = entry;
          return { approval: { ...approval, decision, reason, decided_by: by } };
        });
      case 'input_requested':
        return this.#change(entry.tool_call_id, {
          state: 'waiting',
          input_request: { questions: entry.questions, answers: null },
        });
      case 'input_answered':
        return this.#change(entry.tool_call_id, ({ input_request: request }) =>
          request ? { input_request: { ...request, answers: entry.answers } } : {},
        );
      case 'tool_call_ended':
        return this.#change(entry.tool_call_id, (call) => ({
          state: entry.state,
          output: entry.output,
          ended_at_ms: entry.at_ms,
          execution_ids: joined(call.execution_ids, entry.execution_ids ?? []),
        }));
    }
  }

  #add(message: Message, at: number, next: Changeable): void {
    if (next.messages.some(({ id }) => id === message.id)) return;
    next.queue = next.queue.filter((queued) => queued.message_id !== message.id);
    const added = { ...message, created_at_ms: at, parts: [...(message.parts ?? [])] };
    this.#own.add(added);
    this.#ownMessages().push(added);
    next.leaf = message.id;
  }

  #ownMessages(): Message[] {
    if (this.#messages === null || this.#next === null) {
      this.#messages = [...this.state.messages];
      if (this.#next) this.#next.messages = this.#messages;
    }
    return this.#messages;
  }

  /** The message, to be changed. Nearly always it is the last one. */
  #message(id: string): (Message & { parts: Part[] }) | null {
    const at = this.state.messages.findLastIndex((message) => message.id === id);
    const message = this.state.messages[at];
    if (!message) return null;
    if (this.#own.has(message)) return message as Message & { parts: Part[] };
    const copy = { ...message, parts: [...(message.parts ?? [])] };
    this.#own.add(copy);
    this.#ownMessages()[at] = copy;
    return copy;
  }

  #push(id: string, part: Part): void {
    this.#own.add(part);
    this.#message(id)?.parts.push(part);
  }

  /** The part, to be changed. */
  #part<T extends Part>(parts: Part[], at: number): T {
    const part = parts[at] as T;
    if (this.#own.has(part)) return part;
    const copy = { ...part };
    this.#own.add(copy);
    parts[at] = copy;
    return copy;
  }

  #textPart(id: string, partId: string): Extract<Part, { type: 'text' | 'reasoning' }> | null {
    const message = this.#message(id);
    const at = message?.parts.findLastIndex(
      (part) => (part.type === 'text' || part.type === 'reasoning') && part.part_id === partId,
    );
    return message && at !== undefined && at >= 0 ? this.#part(message.parts, at) : null;
  }

  #startCall(id: string, callId: string, tool: string): void {
    if (findCall(this.state.messages, callId)) return;
    this.#push(id, { type: 'tool_call', tool_call_id: callId, tool, state: 'writing', input_text: '' });
  }

  #change(callId: string, change: Partial<ToolCall> | ((call: ToolCall) => Partial<ToolCall>)): void {
    const found = findCall(this.state.messages, callId);
    const message = found && this.#message(found.message.id);
    if (!message) return;
    const call = this.#part<ToolCallPart>(message.parts, found.at);
    Object.assign(call, typeof change === 'function' ? change(call) : change);
  }

  #discard(id: string, reason: string): void {
    const message = this.#message(id);
    if (!message) return;
    const kept = message.parts.findLastIndex(({ type }) => type === 'step');
    message.parts.splice(Math.max(0, kept));
    message.parts.push({ type: 'notice', text: reason });
  }

  #endStep(id: string, usage: ModelUsage | null | undefined): void {
    const message = usage ? this.#message(id) : null;
    if (message && usage) message.usage = added(message.usage, usage);
  }
}

function findCall(messages: readonly Message[], callId: string): { message: Message; at: number } | null {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index] as Message;
    const parts = message.parts ?? [];
    const at = parts.findLastIndex((part) => part.type === 'tool_call' && part.tool_call_id === callId);
    if (at >= 0) return { message, at };
  }
  return null;
}

function joined(known: readonly string[] | undefined, more: readonly string[]): string[] {
  return [...new Set([...(known ?? []), ...more])];
}

/** The sum of what two calls of a model used. */
export function added(one: ModelUsage | null | undefined, more: ModelUsage): ModelUsage {
  if (!one) return { ...more, cached_tokens: more.cached_tokens ?? 0 };
  const cost = one.cost_usd ?? more.cost_usd;
  return {
    input_tokens: one.input_tokens + more.input_tokens,
    cached_tokens: (one.cached_tokens ?? 0) + (more.cached_tokens ?? 0),
    output_tokens: one.output_tokens + more.output_tokens,
    ...(cost == null ? {} : { cost_usd: (one.cost_usd ?? 0) + (more.cost_usd ?? 0) }),
  };
}
