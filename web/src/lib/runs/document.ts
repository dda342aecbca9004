// The lines of an execution: live rows, and blocks of frozen ones within a budget of memory. Blocks beyond the budget are
// dropped and read again from the server when somebody looks at them.
import { blockOf, Packed, type Block, type Checkpoint, type Row } from './blocks';
import type { GapEvent, LogEvent } from './events';
import { Marks } from './marks';
import type { LiveRow } from './row';
import { Screen, type ScreenState } from './screen';
import { fromBase64 } from './utf8';

/** Reads the events after a `seq`. */
export type EventSource = (after: number, signal: AbortSignal) => AsyncIterable<LogEvent>;

export interface DocumentOptions {
  /** Memory for frozen rows, in bytes. */
  budget?: number;
  blockChars?: number;
  blockRows?: number;
  /** Without it, nothing is dropped. */
  source?: EventSource;
  gapText?: (bytes: number) => string;
}

/** A screen larger than this is not kept as a checkpoint. */
const MAX_CHECKPOINT = 1 << 16;

export class OutputDocument {
  readonly blocks: Block[] = [];
  readonly marks = new Marks();
  /** The first row that looks like an error, among the frozen ones. */
  firstError = -1;
  /** Counts every change, so that views know when to draw. */
  version = 0;
  #frozen = 0;
  #pending: LiveRow[] = [];
  #pendingChars = 0;
  #checkpoint: Checkpoint | null = null;
  #screen: Screen;
  #resident = 0;
  #clock = 0;
  #loading = new Map<number, Promise<void>>();
  readonly #budget: number;
  readonly #blockChars: number;
  readonly #blockRows: number;
  readonly #source: EventSource | undefined;
  readonly #gapText: (bytes: number) => string;

  constructor(options: DocumentOptions = {}) {
    this.#budget = options.budget ?? 24 << 20;
    this.#blockChars = options.blockChars ?? 1 << 18;
    this.#blockRows = options.blockRows ?? 1 << 15;
    this.#source = options.source;
    this.#gapText = options.gapText ?? ((bytes) => `${bytes} bytes are no longer kept`);
    this.#screen = new Screen((row) => this.#freeze(row));
    this.#checkpoint = { seq: 0, screen: JSON.stringify(this.#screen.snapshot()) };
  }

  /** All rows, frozen and live. */
  get length(): number {
    return this.#frozen + this.#screen.live.length;
  }

  /** Rows that never change again. */
  get frozen(): number {
    return this.#frozen;
  }

  /** Memory of the frozen rows that are held, roughly. */
  get resident(): number {
    return this.#resident + this.#pendingChars;
  }

  apply(event: LogEvent): void {
    applyTo(this.#screen, event, this.#gapText);
    if (event.type === 'gap') this.marks.gap(event, this.length - 1);
    this.version += 1;
    if (this.#pendingChars >= this.#blockChars || this.#pending.length >= this.#blockRows) this.#close(event.seq);
  }

  /** Returns a row, or null if it has to be loaded first. */
  row(index: number): Row | null {
    if (index >= this.#frozen) return this.#screen.live[index - this.#frozen] ?? null;
    const packedRows = this.#frozen - this.#pending.length;
    if (index >= packedRows) return this.#pending[index - packedRows] ?? null;
    const block = this.blocks[blockOf(this.blocks, index)];
    if (!block?.packed) return null;
    block.used = ++this.#clock;
    return block.packed.row(index - block.first);
  }

  isLost(index: number): boolean {
    return index < this.#frozen && (this.blocks[blockOf(this.blocks, index)]?.lost ?? false);
  }

  /** Whether a row is in memory or gone for good. */
  has(index: number): boolean {
    const packedRows = this.#frozen - this.#pending.length;
    if (index >= packedRows) return true;
    const block = this.blocks[blockOf(this.blocks, index)];
    return block === undefined || block.packed !== null || block.lost;
  }

  /** Loads the rows `first..last` that are not in memory. */
  async load(first: number, last: number, signal: AbortSignal): Promise<void> {
    const packedRows = this.#frozen - this.#pending.length;
    for (let row = first; row <= last && row < packedRows;) {
      const index = blockOf(this.blocks, row);
      const block = this.blocks[index];
      if (!block) return;
      await this.loadBlock(index, signal);
      row = block.first + block.count;
    }
  }

  /** Loads a block. Two callers share one request. */
  async loadBlock(index: number, signal: AbortSignal): Promise<void> {
    const block = this.blocks[index];
    if (!block || block.packed || block.lost) return;
    const running = this.#loading.get(index);
    if (running) return running;
    const load = this.#replay(index, signal).finally(() => this.#loading.delete(index));
    this.#loading.set(index, load);
    return load;
  }

  #freeze(row: LiveRow): void {
    if (row.kind === 'stderr') this.marks.stderr(this.#frozen);
    this.#frozen += 1;
    this.#pending.push(row);
    this.#pendingChars += row.text.length + 1;
  }

  /** Packs the pending rows. Happens between two events, so that the block can be read again from there. */
  #close(seq: number): void {
    const packed = new Packed(this.#pending);
    const first = this.#frozen - this.#pending.length;
    const block: Block = {
      first,
      count: packed.count,
      checkpoint: this.#checkpoint,
      packed,
      lost: false,
      used: ++this.#clock,
    };
    this.blocks.push(block);
    this.#resident += packed.bytes;
    this.#pending = [];
    this.#pendingChars = 0;
    if (this.firstError < 0) {
      const match = ERROR.exec(packed.text);
      if (match) this.firstError = first + packed.rowAt(match.index);
    }
    const small = this.#source !== undefined && this.#screen.liveChars <= MAX_CHECKPOINT;
    this.#checkpoint = small ? { seq, screen: JSON.stringify(this.#screen.snapshot()) } : null;
    this.#evict(block);
  }

  #evict(keep: Block): void {
    if (!this.#source) return;
    while (this.#resident > this.#budget) {
      let oldest: Block | null = null;
      // The newest block is what most readers look at.
      for (const block of this.blocks.slice(0, -1)) {
        if (block !== keep && block.packed && (oldest === null || block.used < oldest.used)) oldest = block;
      }
      if (!oldest?.packed) return;
      this.#resident -= oldest.packed.bytes;
      oldest.packed = null;
    }
  }

  /** Reads a block again, from the nearest checkpoint before it. */
  async #replay(index: number, signal: AbortSignal): Promise<void> {
    const block = this.blocks[index] as Block;
    let from = index;
    while (from > 0 && !this.blocks[from]?.checkpoint) from -= 1;
    const start = this.blocks[from];
    const checkpoint = start?.checkpoint;
    if (!this.#source || !start || !checkpoint) return;
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    signal.addEventListener('abort', stop, { once: true });
    const end = block.first + block.count;
    const rows: LiveRow[] = [];
    let next = start.first;
    const screen = new Screen(
      (row) => {
        if (next >= block.first && next < end) rows.push(row);
        next += 1;
      },
      JSON.parse(checkpoint.screen) as ScreenState,
    );
    try {
      for await (const event of this.#source(checkpoint.seq, abort.signal)) {
        if (event.type === 'gap' && !this.marks.hasGap(event)) {
          // The server dropped these bytes in the meantime.
          block.lost = true;
          break;
        }
        applyTo(screen, event, this.#gapText);
        if (next >= end || event.type === 'closed') break;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      abort.abort();
    }
    if (signal.aborted) return;
    if (rows.length < block.count) block.lost = true;
    if (!block.lost) {
      block.packed = new Packed(rows);
      block.used = ++this.#clock;
      this.#resident += block.packed.bytes;
      this.#evict(block);
    }
    this.version += 1;
  }

  /** Returns the first row that looks like an error, or the first one of stderr; -1 if there is none. */
  findError(): number {
    if (this.firstError >= 0) return this.firstError;
    let stderr = this.marks.firstStderr;
    for (let row = this.#frozen - this.#pending.length; row < this.length; row += 1) {
      const { text, kind } = this.row(row) ?? { text: '', kind: 'stdout' };
      if (ERROR.test(text)) return row;
      if (stderr < 0 && kind === 'stderr') stderr = row;
    }
    return stderr;
  }
}

/** What programs print when something failed. */
export const ERROR =
  /^\s*(?:[Ee]rror|[Ff]atal|[Pp]anic|FAIL|npm ERR!)\b|\b[Ee]rror(?:\[\w+\])?:|\bTraceback \(most recent call last\)|\bpanicked at\b|\b[A-Z]\w*(?:Error|Exception)\b|\bFAILED\b|\bERROR\b|\bFATAL\b/m;

function applyTo(screen: Screen, event: LogEvent, gapText: (bytes: number) => string): void {
  switch (event.type) {
    case 'stdout':
    case 'stderr':
    case 'output':
      if (typeof event.base64 === 'string') screen.bytes(event.type, fromBase64(event.base64), event.at_ms);
      else screen.text(event.type, event.text ?? '', event.at_ms);
      break;
    case 'gap':
      screen.gap(event.stream, gapText(gapBytes(event)), event.at_ms);
      break;
    case 'closed':
      screen.finish();
      break;
  }
}

function gapBytes(event: GapEvent): number {
  return event.to_byte - event.from_byte;
}
