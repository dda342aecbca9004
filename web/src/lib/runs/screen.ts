// The recent rows of an execution's output, which programs may still change: carriage returns, backspaces, erasing, and
// cursor movement draw progress bars as a terminal does. Older rows are frozen and handed on.
//
// Each stream has its own rows and its own cursor, so that a progress bar on stderr and lines on stdout do not write into
// each other. Rows are ordered by their first byte.
import { control, LIVE_ROWS, newCursor, toSaved, type Cursor, type CursorState } from './cursor';
import { Parser, type Actions } from './parser';
import { MAX_ROW, put, STREAMS, type LiveRow, type Stream } from './row';
import { StreamDecoder } from './utf8';

/** With this many rows, the oldest ones freeze: many at once, which is quicker than one by one. */
const MAX_LIVE_ROWS = 256;
/** With more text than this, rows freeze earlier, so that checkpoints stay small. */
const LIVE_CHARS = 1 << 16;
/** Everything that is needed to continue after an event. */
export interface ScreenState {
  live: LiveRow[];
  liveChars: number;
  cursors: CursorState[];
}

export class Screen {
  live: LiveRow[] = [];
  #liveChars = 0;
  #cursors: Cursor[] = STREAMS.map(() => newCursor());
  #at = 0;
  readonly #freeze: (row: LiveRow) => void;

  constructor(freeze: (row: LiveRow) => void, from?: ScreenState) {
    this.#freeze = freeze;
    if (from) this.#restore(from);
  }

  /** Text of a stream, as the server sent it. */
  text(stream: Stream, text: string, at: number): void {
    const cursor = this.#cursor(stream);
    this.#write(stream, cursor, cursor.decoder.text(text), at);
  }

  bytes(stream: Stream, bytes: Uint8Array, at: number): void {
    const cursor = this.#cursor(stream);
    this.#write(stream, cursor, cursor.decoder.bytes(bytes), at);
  }

  /** Bytes of a stream are missing here. */
  gap(stream: Stream, text: string, at: number): void {
    const cursor = this.#cursor(stream);
    this.#write(stream, cursor, cursor.decoder.finish(), at);
    // What follows a gap has nothing to do with what came before it.
    cursor.parser = new Parser();
    cursor.y = cursor.rows.length;
    cursor.x = 0;
    this.#open({ kind: 'gap', text, spans: null, at, cut: 0 });
  }

  /** No more output will come. */
  finish(): void {
    STREAMS.forEach((stream) => {
      const cursor = this.#cursor(stream);
      this.#write(stream, cursor, cursor.decoder.finish(), this.#at);
    });
  }

  snapshot(): ScreenState {
    return {
      live: this.live.map((row) => ({ ...row, spans: row.spans?.map((span) => ({ ...span })) ?? null })),
      liveChars: this.#liveChars,
      cursors: this.#cursors.map((cursor) => ({
        parser: cursor.parser.snapshot(),
        carry: [...cursor.decoder.carry],
        rows: cursor.rows.map((row) => this.live.indexOf(row)),
        y: cursor.y,
        x: cursor.x,
        saved: cursor.saved && { ...cursor.saved },
        origin: cursor.origin,
      })),
    };
  }

  /** The size of the live text, in characters. */
  get liveChars(): number {
    return this.live.reduce((sum, row) => sum + row.text.length, 0);
  }

  #restore(from: ScreenState): void {
    this.live = from.live.map((row) => ({ ...row, spans: row.spans?.map((span) => ({ ...span })) ?? null }));
    this.#liveChars = from.liveChars;
    this.#cursors = from.cursors.map((state) => {
      const parser = new Parser();
      parser.restore(state.parser);
      const rows = state.rows.map((index) => this.live[index]).filter((row) => row !== undefined);
      const { y, x, saved, origin } = state;
      return { parser, decoder: new StreamDecoder(state.carry), rows, y, x, saved: saved && { ...saved }, origin };
    });
  }

  #cursor(stream: Stream): Cursor {
    return this.#cursors[STREAMS.indexOf(stream)] as Cursor;
  }

  #write(stream: Stream, cursor: Cursor, text: string, at: number): void {
    this.#at = at;
    if (text === '') return;
    cursor.parser.write(text, this.#actions(stream, cursor));
  }

  /** Adds a row at the end and freezes what is too old. */
  #open(row: LiveRow): void {
    // The text of the rows before it has settled; it is counted once, when the next row opens.
    const before = this.live[this.live.length - 1];
    if (before) this.#liveChars += before.text.length;
    this.live.push(row);
    if (this.live.length > MAX_LIVE_ROWS || this.#liveChars > LIVE_CHARS) this.#freezeOldest();
  }

  #freezeOldest(): void {
    let count = Math.max(0, this.live.length - LIVE_ROWS);
    let chars = this.#liveChars;
    for (let i = 0; i < this.live.length - 1; i += 1) {
      if (i >= count && chars <= LIVE_CHARS / 2) break;
      count = Math.max(count, i + 1);
      chars -= this.live[i]?.text.length ?? 0;
    }
    this.#liveChars = Math.max(0, chars);
    const oldest = this.live.splice(0, count);
    const isOldest = new Set(oldest);
    for (const cursor of this.#cursors) {
      let gone = 0;
      while (gone < cursor.rows.length && isOldest.has(cursor.rows[gone] as LiveRow)) gone += 1;
      if (gone === 0) continue;
      cursor.rows.splice(0, gone);
      if (cursor.y < gone) cursor.x = 0;
      cursor.y = Math.max(0, cursor.y - gone);
      if (cursor.saved) cursor.saved.y = Math.max(0, cursor.saved.y - gone);
      if (cursor.origin >= 0) cursor.origin = Math.max(0, cursor.origin - gone);
    }
    oldest.forEach(this.#freeze);
  }

  /** Returns the row of the cursor, and opens rows if there is none yet. */
  #row(stream: Stream, cursor: Cursor): LiveRow {
    while (cursor.y >= cursor.rows.length) {
      const row: LiveRow = { kind: stream, text: '', spans: null, at: this.#at, cut: 0 };
      cursor.rows.push(row);
      this.#open(row);
    }
    return cursor.rows[cursor.y] as LiveRow;
  }

  #actions(stream: Stream, cursor: Cursor): Actions {
    const atEnd = (): boolean => cursor.y >= cursor.rows.length;
    return {
      text: (text, style) => {
        const row = this.#row(stream, cursor);
        put(row, cursor.x, text, style);
        cursor.x = Math.min(cursor.x + text.length, MAX_ROW);
      },
      newline: () => {
        this.#row(stream, cursor);
        cursor.y += 1;
        cursor.x = 0;
      },
      carriageReturn: () => (cursor.x = 0),
      backspace: () => (cursor.x = Math.max(0, cursor.x - 1)),
      tab: (style) => {
        const row = this.#row(stream, cursor);
        if (cursor.x >= row.text.length) {
          put(row, cursor.x, '\t', style);
          cursor.x = Math.min(cursor.x + 1, MAX_ROW);
        } else cursor.x = Math.min(row.text.length, cursor.x + 8 - (cursor.x % 8));
      },
      csi: (final, parameters) => control(cursor, final, parameters, () => this.#row(stream, cursor)),
      save: () => (cursor.saved = { y: cursor.y, x: cursor.x }),
      restore: () => toSaved(cursor),
      reset: () => {
        if (!atEnd() && this.#row(stream, cursor).text !== '') cursor.y = cursor.rows.length;
        cursor.x = 0;
      },
    };
  }
}
