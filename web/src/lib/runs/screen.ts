// The recent rows of an execution's output, which programs may still change: carriage returns, backspaces, erasing, and
// cursor movement draw progress bars as a terminal does. Older rows are frozen and handed on.
//
// Each stream has its own rows and its own cursor, so that a progress bar on stderr and lines on stdout do not write into
// each other. Rows are ordered by their first byte.
import { Parser, type Actions, type ParserState } from './parser';
import { cutSpans, setSpan, shiftSpans, type Span } from './spans';
import { PLAIN, type Style } from './style';
import { StreamDecoder } from './utf8';

export type Stream = 'stdout' | 'stderr' | 'output';
export const STREAMS: readonly Stream[] = ['stdout', 'stderr', 'output'];

/** What a row is: output of a stream, or a note that bytes are missing. */
export type RowKind = Stream | 'gap';

/** A row that may still change. */
export interface LiveRow {
  kind: RowKind;
  text: string;
  /** Null as long as all of it is plain. */
  spans: Span[] | null;
  /** Milliseconds since the start, when its first byte was written. */
  at: number;
  /** Characters of the row that are not kept, because it is very long. */
  cut: number;
}

/** Rows that stay changeable, at least. No progress display is taller. */
export const LIVE_ROWS = 100;
/** With this many rows, the oldest ones freeze: many at once, which is quicker than one by one. */
const MAX_LIVE_ROWS = 256;
/** With more text than this, rows freeze earlier, so that checkpoints stay small. */
const LIVE_CHARS = 1 << 16;
/** Text of a row beyond this is counted, not kept. */
export const MAX_ROW = 1 << 20;
/** Overwriting in the middle of a longer row drops the rest of the row, so that no program makes it slow. */
const MAX_OVERWRITE = 1 << 15;
/** Cursor movement stops at this column, unless the row is longer. */
const MAX_COLUMN = 1000;

interface Cursor {
  parser: Parser;
  decoder: StreamDecoder;
  /** The rows of this stream that are still live. */
  rows: LiveRow[];
  /** An index into `rows`; `rows.length` is the row that the next text opens. */
  y: number;
  x: number;
  /** Null until a position is saved. */
  saved: { y: number; x: number } | null;
  /** The row that absolute positions count from, once a program used one; -1 before. */
  origin: number;
}

interface CursorState {
  parser: ParserState;
  carry: number[];
  rows: number[];
  y: number;
  x: number;
  saved: { y: number; x: number } | null;
  origin: number;
}

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
      csi: (final, parameters) => this.#csi(stream, cursor, final, parameters),
      save: () => (cursor.saved = { y: cursor.y, x: cursor.x }),
      restore: () => toSaved(cursor),
      reset: () => {
        if (!atEnd() && this.#row(stream, cursor).text !== '') cursor.y = cursor.rows.length;
        cursor.x = 0;
      },
    };
  }

  #csi(stream: Stream, cursor: Cursor, final: string, parameters: number[]): void {
    const first = parameters[0] ?? 0;
    const count = Math.max(1, first);
    const current = cursor.rows[cursor.y];
    const width = Math.max(MAX_COLUMN, current?.text.length ?? 0);
    switch (final) {
      case 'A':
      case 'F':
        cursor.y = Math.max(0, cursor.y - count);
        if (final === 'F') cursor.x = 0;
        break;
      case 'B':
      case 'E':
        // As in a terminal, moving down makes no rows.
        cursor.y = Math.min(cursor.rows.length, cursor.y + count);
        if (final === 'E') cursor.x = 0;
        break;
      case 'C':
        cursor.x = Math.min(width, cursor.x + count);
        break;
      case 'D':
        cursor.x = Math.max(0, cursor.x - count);
        break;
      case 'G':
      case '`':
        cursor.x = Math.min(width, count - 1);
        break;
      case 'H':
      case 'f':
        this.#moveTo(stream, cursor, count - 1, Math.min(width, Math.max(1, parameters[1] ?? 1) - 1));
        break;
      case 'K':
        if (current) eraseInRow(current, cursor.x, first);
        break;
      case 'J':
        this.#eraseDisplay(cursor, first);
        break;
      case 'X':
        if (current) overwrite(current, cursor.x, Math.min(count, Math.max(0, current.text.length - cursor.x)));
        break;
      case 'P':
        if (current) remove(current, cursor.x, count);
        break;
      case '@':
        if (current && cursor.x < current.text.length) insert(current, cursor.x, Math.min(count, MAX_COLUMN));
        break;
      case 's':
        cursor.saved = { y: cursor.y, x: cursor.x };
        break;
      case 'u':
        toSaved(cursor);
        break;
    }
  }

  /** An absolute position. The first one of a stream begins a screen below the rows that are there. */
  #moveTo(stream: Stream, cursor: Cursor, y: number, x: number): void {
    if (cursor.origin < 0 || cursor.origin > cursor.rows.length) cursor.origin = cursor.rows.length;
    const target = Math.min(y, LIVE_ROWS / 2);
    while (cursor.rows.length < cursor.origin + target) {
      cursor.y = cursor.rows.length;
      this.#row(stream, cursor);
    }
    cursor.y = Math.min(cursor.rows.length, cursor.origin + target);
    cursor.x = x;
  }

  #eraseDisplay(cursor: Cursor, mode: number): void {
    if (mode === 0) {
      const current = cursor.rows[cursor.y];
      if (current) eraseInRow(current, cursor.x, 0);
      for (const row of cursor.rows.slice(cursor.y + 1)) eraseInRow(row, 0, 0);
    } else if (mode === 1) {
      for (const row of cursor.rows.slice(Math.max(0, cursor.origin), cursor.y)) eraseInRow(row, 0, 0);
    } else if (mode === 2 && cursor.origin >= 0) {
      // A program that redraws its screen draws over it. What was printed before the first position stays.
      for (const row of cursor.rows.slice(cursor.origin)) eraseInRow(row, 0, 0);
    }
  }
}

function newCursor(): Cursor {
  return {
    parser: new Parser(),
    decoder: new StreamDecoder(),
    rows: [],
    y: 0,
    x: 0,
    saved: null,
    origin: -1,
  };
}

function toSaved(cursor: Cursor): void {
  if (!cursor.saved) return;
  cursor.y = Math.min(cursor.saved.y, cursor.rows.length);
  cursor.x = cursor.saved.x;
}

/** Writes text at a column, over what is there. */
function put(row: LiveRow, column: number, text: string, style: Style): void {
  const length = row.text.length;
  if (column > length) {
    row.text += ' '.repeat(column - length);
  }
  if (column >= length) {
    const room = MAX_ROW - row.text.length;
    if (text.length > room) {
      row.cut += text.length - room;
      text = text.slice(0, room);
    }
    row.text += text;
  } else if (length > MAX_OVERWRITE) {
    row.text = whole(row.text.slice(0, column)) + text;
    row.cut = 0;
    if (row.spans) cutSpans(row.spans, column);
  } else {
    row.text = whole(row.text.slice(0, column)) + text + wholeStart(row.text.slice(column + text.length));
  }
  if (row.spans === null) {
    if (style === PLAIN) return;
    row.spans = [];
  }
  setSpan(row.spans, column, column + text.length, style);
}

function eraseInRow(row: LiveRow, column: number, mode: number): void {
  if (mode === 0) {
    row.text = whole(row.text.slice(0, column));
    if (row.spans) cutSpans(row.spans, column);
  } else if (mode === 1) overwrite(row, 0, Math.min(column + 1, row.text.length));
  else {
    row.text = '';
    row.spans = null;
  }
  row.cut = 0;
}

/** Replaces characters by spaces. */
function overwrite(row: LiveRow, column: number, count: number): void {
  if (count <= 0 || column >= row.text.length) return;
  put(row, column, ' '.repeat(count), PLAIN);
}

function remove(row: LiveRow, column: number, count: number): void {
  if (column >= row.text.length) return;
  row.text = whole(row.text.slice(0, column)) + wholeStart(row.text.slice(column + count));
  if (!row.spans) return;
  shiftSpans(row.spans, column, -count);
  cutSpans(row.spans, row.text.length);
}

function insert(row: LiveRow, column: number, count: number): void {
  if (row.text.length > MAX_OVERWRITE) return;
  row.text = whole(row.text.slice(0, column)) + ' '.repeat(count) + wholeStart(row.text.slice(column));
  if (row.spans) shiftSpans(row.spans, column, count);
}

/** Half of a character outside the BMP becomes a space. */
function whole(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? `${text.slice(0, -1)} ` : text;
}

function wholeStart(text: string): string {
  const first = text.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? ` ${text.slice(1)}` : text;
}
