// Splits the text of one stream into printable text, control characters and escape sequences. Sequences that have no
// meaning in a log are dropped, whatever they contain.
import { applySgr, PLAIN, withLink, type Style } from './style';

/** What a parser tells the screen. All numbers are at least 0. */
export interface Actions {
  text(text: string, style: Style): void;
  newline(): void;
  carriageReturn(): void;
  backspace(): void;
  tab(style: Style): void;
  csi(final: string, parameters: number[]): void;
  save(): void;
  restore(): void;
  /** `ESC c`: the terminal is reset. */
  reset(): void;
}

const GROUND = 0;
const ESCAPE = 1;
const ESCAPE_MORE = 2;
const CSI = 3;
const OSC = 4;
const STRING = 5;

/** Longer sequences are read to their end and dropped. */
const MAX_CSI = 256;
const MAX_OSC = 8192;
/** A string (DCS, APC, ...) without an end stops hiding text after this many characters. */
const MAX_STRING = 1 << 20;

const CONTROL = /[\x00-\x1f\x7f-\x9f]/g;

/** The parser's memory between two events, for checkpoints. */
export interface ParserState {
  state: number;
  buffer: string;
  swallowed: number;
  escaped: boolean;
  style: Style;
}

export class Parser {
  #state = GROUND;
  #buffer = '';
  /** Characters of the current string or of an overlong sequence. */
  #swallowed = 0;
  /** Inside a string, the last character was ESC. */
  #escaped = false;
  style: Style = PLAIN;

  snapshot(): ParserState {
    return {
      state: this.#state,
      buffer: this.#buffer,
      swallowed: this.#swallowed,
      escaped: this.#escaped,
      style: this.style,
    };
  }

  restore(from: ParserState): void {
    this.#state = from.state;
    this.#buffer = from.buffer;
    this.#swallowed = from.swallowed;
    this.#escaped = from.escaped;
    this.style = from.style;
  }

  write(text: string, to: Actions): void {
    let at = 0;
    while (at < text.length) {
      if (this.#state !== GROUND) {
        at = this.#inSequence(text, at, to);
        continue;
      }
      // `test` allocates nothing, unlike `exec`.
      CONTROL.lastIndex = at;
      const next = CONTROL.test(text) ? CONTROL.lastIndex - 1 : text.length;
      if (next > at) to.text(text.slice(at, next), this.style);
      if (next < text.length) this.#control(text.charCodeAt(next), to);
      at = next + 1;
    }
  }

  #control(code: number, to: Actions): void {
    if (code === 10) to.newline();
    else if (code === 13) to.carriageReturn();
    else if (code === 9) to.tab(this.style);
    else if (code === 8) to.backspace();
    else if (code === 27) this.#enter(ESCAPE);
  }

  #enter(state: number): void {
    this.#state = state;
    this.#buffer = '';
    this.#swallowed = 0;
    this.#escaped = false;
  }

  /** Reads one or more characters of a sequence and returns the position after them. */
  #inSequence(text: string, at: number, to: Actions): number {
    const code = text.charCodeAt(at);
    switch (this.#state) {
      case ESCAPE:
        return this.#escape(text, at, to);
      case ESCAPE_MORE:
        // `ESC ( B` and the like: intermediates, then one final character.
        if (code < 0x20 || code > 0x2f) this.#state = GROUND;
        return isControl(code) ? at : at + 1;
      case CSI:
        return this.#csi(text, at, to);
      case OSC:
        return this.#osc(text, at);
      default:
        return this.#string(code, at);
    }
  }

  #escape(text: string, at: number, to: Actions): number {
    const char = text.charAt(at);
    const code = text.charCodeAt(at);
    if (char === '[') this.#enter(CSI);
    else if (char === ']') this.#enter(OSC);
    else if (char === 'P' || char === 'X' || char === '^' || char === '_') this.#enter(STRING);
    else if (code >= 0x20 && code <= 0x2f) this.#enter(ESCAPE_MORE);
    else {
      this.#state = GROUND;
      if (char === '7') to.save();
      else if (char === '8') to.restore();
      else if (char === 'E') to.newline();
      else if (char === 'M') to.csi('A', [1]);
      else if (char === 'c') {
        this.style = PLAIN;
        to.reset();
      } else if (code < 0x20) return at;
    }
    return at + 1;
  }

  #csi(text: string, at: number, to: Actions): number {
    const code = text.charCodeAt(at);
    if (code >= 0x40 && code <= 0x7e) {
      this.#state = GROUND;
      if (this.#swallowed === 0) this.#dispatch(text.charAt(at), to);
    } else if (code < 0x20) {
      // A control character inside a sequence ends it here: text is more important than a broken sequence.
      this.#state = GROUND;
      return at;
    } else if (this.#buffer.length < MAX_CSI) this.#buffer += text.charAt(at);
    else this.#swallowed += 1;
    return at + 1;
  }

  #dispatch(final: string, to: Actions): void {
    if (final === 'm') {
      if (/^[\d;:]*$/.test(this.#buffer)) this.style = applySgr(this.style, this.#buffer);
      return;
    }
    // Private modes (`?25l`) and sequences with intermediates do not matter in a log.
    if (!/^[\d;]*$/.test(this.#buffer)) return;
    const parameters = this.#buffer === '' ? [] : this.#buffer.split(';').map((part) => Math.min(Number(part), 65535));
    to.csi(final, parameters);
  }

  #osc(text: string, at: number): number {
    const code = text.charCodeAt(at);
    if (this.#escaped) {
      this.#state = GROUND;
      // `ESC \` ends the sequence; ESC with anything else ends it and begins another one.
      if (code === 0x5c) {
        this.#oscEnd();
        return at + 1;
      }
      this.#enter(ESCAPE);
      return at;
    }
    if (code === 27) this.#escaped = true;
    else if (code === 7 || code === 0x9c) {
      this.#state = GROUND;
      this.#oscEnd();
    } else if (code < 0x20) {
      this.#state = GROUND;
      return at;
    } else if (this.#buffer.length < MAX_OSC) this.#buffer += text.charAt(at);
    else this.#swallowed += 1;
    return at + 1;
  }

  #oscEnd(): void {
    if (this.#swallowed > 0) return;
    // `8 ; parameters ; target`. Titles, notifications, clipboards and so on are dropped.
    const match = /^8;[^;]*;(.*)$/.exec(this.#buffer);
    if (match) this.style = withLink(this.style, match[1] ?? '');
  }

  #string(code: number, at: number): number {
    this.#swallowed += 1;
    if ((this.#escaped && code === 0x5c) || code === 0x9c || this.#swallowed > MAX_STRING) this.#state = GROUND;
    this.#escaped = code === 27;
    return at + 1;
  }
}

function isControl(code: number): boolean {
  return code < 0x20 || code === 0x7f;
}
