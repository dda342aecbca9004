// One execution as views see it: its record, the state of its events, its lines, and what can be done with it.
import { ApiError, type ConnectionState, type Execution as Info, type Headwater, type SessionUsage } from 'headwater';
import { untrack } from 'svelte';
import { activity } from '../app/activity.svelte';
import { runs } from '../strings/runs';
import { OutputDocument } from './document';
import { NEW_RUN, reduce, type LogEvent, type RunState } from './events';
import { sniff, type Kind } from './magic';
import { giveWay } from './pause';
import { fromBase64 } from './utf8';

export interface ExecutionOptions {
  /** Memory for the lines, in bytes. Less for cards. */
  budget?: number;
  /** Whether to ask for CPU and memory while it runs. */
  meter?: boolean;
}

/** Something worth a line in the list of events. */
export interface Milestone {
  kind: string;
  at: number;
}

/** Work on events for this long, then let the browser draw. */
const SLICE_MS = 8;
const METER_MS = 2000;
/** A running program that has printed nothing for this long is quiet. */
export const QUIET_MS = 10_000;

export class Execution {
  readonly document: OutputDocument;
  /** The record of the execution; null until it is loaded. */
  info = $state.raw<Info | null>(null);
  run = $state.raw<RunState>(NEW_RUN);
  connection = $state<ConnectionState>('connecting');
  error = $state.raw<unknown>(null);
  milestones = $state.raw<Milestone[]>([]);
  /** What the session uses now, and the share of a processor. */
  usage = $state.raw<{ memoryBytes: number; cpu: number | null; limits: SessionUsage['limits'] } | null>(null);
  /** Set if the output is an image or other binary data. */
  binary = $state.raw<Kind | null>(null);
  isCancelling = $state(false);
  isInputClosed = $state(false);
  /** When the last event came, in milliseconds; 0 before. */
  lastEventAt = $state(0);
  readonly startedAt: number | null = $derived(this.info ? new Date(this.info.started_at).getTime() : null);
  readonly isRunning: boolean = $derived(
    this.run.exit === null && (this.info === null || (this.info.state !== 'exited' && this.info.state !== 'closed')),
  );
  readonly exit = $derived(this.run.exit ?? this.info?.exit ?? null);
  readonly durationMs: number | null = $derived(this.run.durationMs ?? this.info?.duration_ms ?? null);
  #state = NEW_RUN;
  #milestones: Milestone[] = [];
  #abort: AbortController | null = null;
  #users = 0;
  #frame = 0;
  #listeners = new Set<() => void>();
  readonly #meter: boolean;

  constructor(
    readonly client: Headwater,
    readonly id: string,
    options: ExecutionOptions = {},
  ) {
    this.#meter = options.meter ?? false;
    this.document = new OutputDocument({
      ...(options.budget === undefined ? {} : { budget: options.budget }),
      gapText: runs.gap,
      source: (after, signal) =>
        client.executions.follow(id, { after, signal, batchMs: 0, batchBytes: 1 << 16 }) as AsyncIterable<LogEvent>,
    });
  }

  /** Begins to follow. Several views may use one object; the last one that leaves ends it. */
  open(): () => void {
    this.#users += 1;
    if (this.#users === 1) {
      // An effect that opens it must not run again with every event.
      untrack(() => this.#begin());
    }
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#users -= 1;
      if (this.#users === 0) this.#abort?.abort();
    };
  }

  /** Calls `listener` at most once a frame when lines have changed. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tries again after an error. */
  retry(): void {
    this.error = null;
    this.#abort?.abort();
    this.#begin();
  }

  #begin(): void {
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    // The output first: a browser has few connections.
    void this.#follow(signal);
    void this.#load(signal);
    if (this.#meter) void this.#measure(signal);
  }

  /** Asks the program to end; the second time, kills it. */
  async cancel(): Promise<void> {
    const kill = this.isCancelling;
    this.isCancelling = true;
    try {
      await this.client.executions.cancel(this.id, kill ? { grace_ms: 0 } : {});
    } catch (error) {
      if (!kill) this.isCancelling = false;
      // It has ended in the meantime.
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    }
  }

  async write(text: string, end = false): Promise<void> {
    try {
      await this.client.executions.write(this.id, new TextEncoder().encode(text), end ? { eof: true } : {});
      if (end) this.isInputClosed = true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) this.isInputClosed = true;
      throw error;
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    try {
      this.info = await this.client.executions.get(this.id, undefined, { signal });
    } catch (error) {
      if (!signal.aborted && error instanceof ApiError) this.error = error;
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let unmark: (() => void) | null = null;
    try {
      const events = this.client.executions.follow(this.id, {
        after: this.#state.lastSeq,
        signal,
        // Below a frame, so that output appears with the next one, and few events under load.
        batchMs: 8,
        batchBytes: 1 << 16,
        onState: (state) => {
          if (!signal.aborted) this.connection = state;
        },
      }) as AsyncIterable<LogEvent>;
      let until = performance.now() + SLICE_MS;
      for await (const event of events) {
        const next = reduce(this.#state, event);
        if (next === this.#state) continue;
        this.#note(event, next);
        this.#state = next;
        this.document.apply(event);
        unmark = this.#mark(unmark);
        this.#changed();
        if (performance.now() < until) continue;
        await giveWay();
        until = performance.now() + SLICE_MS;
      }
      this.#publish();
      if (!signal.aborted) await this.#load(signal);
    } catch (error) {
      if (!signal.aborted) this.error = error;
    } finally {
      unmark?.();
    }
  }

  /** Shows in the icon of the tab that something runs. */
  #mark(unmark: (() => void) | null): (() => void) | null {
    const isRunning = this.#state.phase === 'running';
    if (isRunning && unmark === null) return activity.follow(this.id);
    if (!isRunning && unmark !== null) {
      unmark();
      return null;
    }
    return unmark;
  }

  #note(event: LogEvent, next: RunState): void {
    const isOutput = event.type === 'stdout' || event.type === 'stderr' || event.type === 'output';
    if (isOutput) {
      if (this.#state.lastOutputAt === null) this.#milestone('firstOutput', event.at_ms);
      const isFirst = event.offset === 0 && event.type !== 'stderr';
      if (isFirst) {
        const bytes = event.base64
          ? fromBase64(event.base64)
          : new TextEncoder().encode((event.text ?? '').slice(0, 4096));
        this.binary = sniff(bytes);
      }
    } else this.#milestone(event.type, event.at_ms);
    if (next.exit !== null && this.#state.exit === null) this.#publish();
  }

  #milestone(kind: string, at: number): void {
    // Gaps can be many; the list is for people.
    if (this.#milestones.length < 100) this.#milestones = [...this.#milestones, { kind, at }];
  }

  #changed(): void {
    if (this.#frame !== 0) return;
    // A hidden page gets no frames, and nobody sees it; its state still advances.
    if (document.visibilityState === 'hidden') {
      this.#frame = -1;
      setTimeout(() => this.#publish(), 200);
    } else this.#frame = requestAnimationFrame(() => this.#publish());
  }

  #publish(): void {
    this.#frame = 0;
    this.run = this.#state;
    this.milestones = this.#milestones;
    this.lastEventAt = Date.now();
    for (const listener of this.#listeners) listener();
  }

  async #measure(signal: AbortSignal): Promise<void> {
    let before: { at: number; cpuMs: number } | null = null;
    while (!signal.aborted && this.run.exit === null) {
      const session = this.info?.session_id;
      if (session && this.isRunning && document.visibilityState === 'visible') {
        try {
          const { used, limits } = await this.client.sessions.usage(session, { signal });
          const now = { at: performance.now(), cpuMs: used.cpu_ms ?? 0 };
          const cpu = before ? Math.max(0, (now.cpuMs - before.cpuMs) / (now.at - before.at)) : null;
          this.usage = { memoryBytes: used.memory_bytes ?? 0, cpu, limits };
          before = now;
        } catch {
          // The figures are a help; the next ones come soon.
        }
      }
      await new Promise((resolve) => setTimeout(resolve, session ? METER_MS : 100));
    }
  }
}
