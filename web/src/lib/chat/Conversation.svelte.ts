// One conversation as views see it: its messages as of the last entry of its log, and what can be done with it.
import { ApiError, type ConnectionState } from 'headwater';
import { untrack } from 'svelte';
import { activity } from '../app/activity.svelte';
import { newMessageId, type ChatApi, type ConversationPatch, type NewMessage } from './api';
import { alternatives, branchTo, totalUsage } from './branches';
import { EMPTY, fold, fromSnapshot, type ConversationState } from './fold';
import { early } from './lazy.svelte';
import type { Answer, ApprovalDecision, ConversationInfo, LogEntry, Snapshot } from './types';

/** A message on its way to the server. */
export type Pending = Pick<NewMessage, 'id' | 'text'> & { attachments: number };

/** The metadata of an execution that belongs to a conversation. */
const CONVERSATION = 'conversation_id';
/** A hidden page gets no frames: its entries are applied this often. */
const HIDDEN_MS = 250;

export class Conversation {
  info = $state.raw<ConversationInfo | null>(null);
  state = $state.raw<ConversationState>(EMPTY);
  error = $state.raw<unknown>(null);
  connection = $state<ConnectionState>('connecting');
  isStopping = $state(false);
  #sent = $state.raw<readonly Pending[]>([]);

  readonly branch = $derived(branchTo(this.state.messages, this.state.leaf));
  readonly alternatives = $derived(alternatives(this.state.messages));
  readonly usage = $derived(totalUsage(this.branch));
  readonly isRunning: boolean = $derived(this.state.turn !== null && this.state.turn.outcome == null);
  /** What a person is asked: consent, or a question. */
  readonly isWaiting: boolean = $derived(
    this.branch.at(-1)?.parts?.some((part) => part.type === 'tool_call' && part.state === 'waiting') ?? false,
  );
  readonly title: string | null = $derived(this.state.title ?? this.info?.title ?? null);
  /** What was sent and is not in the log yet. */
  readonly pending: readonly Pending[] = $derived(this.#sent.filter(({ id }) => !this.#isKnown(id)));
  readonly isMissing: boolean = $derived(this.error instanceof ApiError && [403, 404].includes(this.error.status));

  #abort: AbortController | null = null;
  #waiting: LogEntry[] = [];
  #frame = 0;
  /** Whether a tool has run in this turn. */
  #hasRun = false;
  #unmark: (() => void) | null = null;

  constructor(
    readonly api: ChatApi,
    readonly id: string,
  ) {}

  /** Begins to follow. Returns a function that ends it. */
  open(): () => void {
    untrack(() => this.#begin());
    return () => {
      this.#abort?.abort();
      this.#unmark?.();
      this.#unmark = null;
    };
  }

  retry(): void {
    this.#abort?.abort();
    this.error = null;
    this.#begin();
  }

  #begin(): void {
    this.#abort = new AbortController();
    void this.#run(this.#abort.signal);
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      if (this.info === null) this.#take(await this.api.get(this.id, signal));
      const entries = this.api.follow(this.id, this.state.lastSeq, {
        signal,
        onState: (state) => {
          if (!signal.aborted) this.connection = state;
        },
      });
      for await (const entry of entries) {
        this.#waiting.push(entry);
        this.#schedule();
        if (entry.type === 'tool_call_running' && entry.execution_id) early.follow(entry.execution_id);
      }
    } catch (error) {
      if (!signal.aborted) this.error = error;
    }
  }

  #take(snapshot: Snapshot): void {
    this.#setInfo(snapshot);
    this.state = fromSnapshot(snapshot);
    this.#mark();
  }

  #setInfo(info: ConversationInfo): void {
    this.info = info;
  }

  #schedule(): void {
    if (this.#frame !== 0) return;
    if (document.visibilityState === 'hidden') {
      this.#frame = -1;
      setTimeout(() => this.#flush(), HIDDEN_MS);
    } else this.#frame = requestAnimationFrame(() => this.#flush());
  }

  /** Applies what has come since the last frame, at once. */
  #flush(): void {
    this.#frame = 0;
    const entries = this.#waiting;
    this.#waiting = [];
    const wasRunning = this.isRunning;
    this.state = fold(this.state, entries);
    if (!this.isRunning) this.isStopping = false;
    // For good: one that was withdrawn later is not on its way again.
    if (this.#sent.length > 0) this.#sent = this.#sent.filter(({ id }) => !this.#isKnown(id));
    this.#mark();
    // Only the session is not in the log: a tool call creates it if there is none, or if it has ended. What is loaded has
    // all messages with their outputs, so that it is not asked for without need.
    const runs = entries.some(({ type }) => type === 'tool_call_running');
    const hasSession = this.info?.session_id != null;
    this.#hasRun ||= runs;
    const isOver = wasRunning && !this.isRunning;
    if (isOver ? this.#hasRun || !hasSession : runs && !hasSession) void this.refresh();
    if (isOver) this.#hasRun = false;
  }

  #isKnown(id: string): boolean {
    const { messages, queue } = this.state;
    return messages.some((message) => message.id === id) || queue.some((queued) => queued.message_id === id);
  }

  /** Shows in the icon of the tab that something runs. */
  #mark(): void {
    if (this.isRunning) this.#unmark ??= activity.follow(this.id);
    else {
      this.#unmark?.();
      this.#unmark = null;
    }
  }

  /** Loads everything but the messages anew. */
  async refresh(): Promise<void> {
    try {
      this.#setInfo(await this.api.get(this.id, this.#abort?.signal));
    } catch {
      // It is asked for again when something changes; the log goes on meanwhile.
    }
  }

  async change(patch: ConversationPatch): Promise<void> {
    const before = this.info;
    if (before) this.info = { ...before, ...patch };
    try {
      this.info = await this.api.change(this.id, patch);
    } catch (error) {
      this.info = before;
      throw error;
    }
  }

  /** Sends a message, and shows it until the log has it. */
  async send(message: Omit<NewMessage, 'id'>): Promise<void> {
    const id = newMessageId();
    this.#sent = [...this.#sent, { id, text: message.text, attachments: message.attachments?.length ?? 0 }];
    try {
      await this.api.send(this.id, { id, ...message });
    } catch (error) {
      this.#sent = this.#sent.filter((sent) => sent.id !== id);
      throw error;
    }
  }

  /** Runs code in the session of the conversation, which is created if there is none. Returns the execution. */
  async run(code: string, language: string): Promise<string> {
    const { client } = this.api;
    let session = this.info?.session_id;
    if (!session) {
      session = (await client.sessions.create({})).id;
      await this.change({ session_id: session });
    }
    const metadata = { [CONVERSATION]: this.id };
    return (await client.executions.startIn(session, { language, code, metadata })).id;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    try {
      await this.api.stop(this.id);
    } catch (error) {
      this.isStopping = false;
      throw error;
    }
  }

  withdraw = (message: string): Promise<void> => this.api.withdraw(this.id, message);
  regenerate = (message: string): Promise<unknown> => this.api.regenerate(this.id, message);
  selectBranch = (message: string): Promise<unknown> => this.api.selectBranch(this.id, message);
  answer = (call: string, answers: Answer[]): Promise<unknown> => this.api.answer(this.id, call, answers);
  decide = (approval: string, decision: ApprovalDecision, reason?: string): Promise<unknown> =>
    this.api.decide(this.id, approval, decision, reason);
}
