// The commands of a shell and where they are in the emulator's buffer.
//
// The shell prints marks (OSC 133) where its prompts and commands are. Any program can print them too, so a mark in the
// output is only a place; that there was a prompt or an end, and the exit code, is what the server says, which knows the
// shell's marks from forged ones.

import type { EventFrame } from 'headwater';

/** A place in the buffer that moves with its line. `IMarker` of xterm.js is one. */
export interface Place {
  readonly line: number;
  readonly isDisposed: boolean;
  dispose(): void;
}

/** Makes a place at the cursor; undefined if the emulator has none. */
export type PlaceHere = () => { place: Place; column: number } | undefined;

export type CommandState = 'prompt' | 'running' | 'succeeded' | 'failed';

export interface ShellCommand {
  readonly id: number;
  state: CommandState;
  /** The line of the prompt. */
  prompt: Place;
  /** The first line of the output. */
  start: Place | undefined;
  /** The end of the output; the column is that of the first cell after it. */
  end: { place: Place; column: number } | undefined;
  text: string | undefined;
  exitCode: number | undefined;
  startedAt: number | undefined;
  endedAt: number | undefined;
}

type MarkKind = 'A' | 'C' | 'D';

interface Candidate {
  kind: MarkKind;
  place: Place;
  column: number;
  /** The event before the output that contained the mark; undefined while that output is being drawn. */
  from: number | undefined;
}

const MAX_COMMANDS = 1000;
const MAX_CANDIDATES = 256;

export class Commands {
  list: ShellCommand[] = [];
  #candidates: Candidate[] = [];
  #last = 0;

  constructor(
    private readonly placeHere: PlaceHere,
    private readonly changed: (command: ShellCommand) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** The emulator drew a mark: OSC 133 with this content. */
  mark(content: string): void {
    const kind = content.charAt(0);
    if ((kind !== 'A' && kind !== 'C' && kind !== 'D') || this.#candidates.length >= MAX_CANDIDATES) return;
    const here = this.placeHere();
    if (here !== undefined) this.#candidates.push({ kind, ...here, from: undefined });
  }

  /** The emulator has drawn output that came after the event `from`. */
  drawn(from: number): void {
    for (const candidate of this.#candidates) candidate.from ??= from;
  }

  /** The server reports a mark of the shell, after the output that contained it was drawn. */
  take(event: EventFrame): void {
    if (event.type === 'prompt') this.#prompt(event.seq);
    else if (event.type === 'command_started') this.#started(event.seq, event.line ?? undefined);
    else if (event.type === 'command_ended') this.#ended(event.seq, event.exit_code ?? undefined);
  }

  /** Forgets everything: the screen was replaced. */
  clear(): void {
    for (const candidate of this.#candidates) candidate.place.dispose();
    for (const command of this.list) dispose(command);
    this.#candidates = [];
    this.list = [];
  }

  /** The commands that are still in the buffer, first to last. */
  present(): ShellCommand[] {
    return this.list.filter((command) => !command.prompt.isDisposed);
  }

  /** The command whose prompt or output is at this line. */
  at(line: number): ShellCommand | undefined {
    return this.present().findLast((command) => command.prompt.line <= line);
  }

  /** The nearest prompt above or below a line. */
  jump(line: number, direction: 'up' | 'down'): ShellCommand | undefined {
    const all = this.present();
    return direction === 'up'
      ? all.findLast((command) => command.prompt.line < line)
      : all.find((command) => command.prompt.line > line);
  }

  #prompt(seq: number): void {
    const found = this.#find('A', seq, 'last') ?? this.placeHere();
    if (found === undefined) return;
    const open = this.list.at(-1);
    // The same prompt again, e.g. after Enter on an empty line or after the screen was drawn anew.
    if (open?.state === 'prompt') {
      this.list.pop();
      dispose(open);
    }
    this.#last += 1;
    const command: ShellCommand = {
      id: this.#last,
      state: 'prompt',
      prompt: found.place,
      start: undefined,
      end: undefined,
      text: undefined,
      exitCode: undefined,
      startedAt: undefined,
      endedAt: undefined,
    };
    this.list.push(command);
    if (this.list.length > MAX_COMMANDS) this.list.splice(0, this.list.length - MAX_COMMANDS).forEach(dispose);
    this.changed(command);
  }

  #started(seq: number, text: string | undefined): void {
    // The shell prints its mark before the program can print anything.
    const found = this.#find('C', seq, 'first');
    const command = this.list.at(-1);
    if (command?.state !== 'prompt') return;
    command.state = 'running';
    command.start = found?.place;
    command.text = text;
    command.startedAt = this.now();
    this.changed(command);
  }

  #ended(seq: number, exitCode: number | undefined): void {
    // The shell prints its mark after everything that the program printed.
    const found = this.#find('D', seq, 'last');
    const command = this.list.at(-1);
    if (command?.state !== 'running') return;
    command.state = (exitCode ?? 0) === 0 ? 'succeeded' : 'failed';
    command.exitCode = exitCode;
    command.end = found;
    command.endedAt = this.now();
    this.changed(command);
  }

  /** The place of a mark that the server reported. Earlier ones of its kind are forged or stale. */
  #find(kind: MarkKind, seq: number, which: 'first' | 'last'): { place: Place; column: number } | undefined {
    const matches = (one: Candidate): boolean => one.kind === kind && (one.from ?? Infinity) < seq;
    const found = which === 'first' ? this.#candidates.find(matches) : this.#candidates.findLast(matches);
    if (found === undefined) return undefined;
    const until = which === 'first' ? this.#candidates.findLast(matches) : found;
    const last = this.#candidates.indexOf(until ?? found);
    this.#candidates = this.#candidates.filter((one, index) => {
      const stays = one.kind !== kind || index > last;
      if (!stays && one !== found) one.place.dispose();
      return stays;
    });
    return { place: found.place, column: found.column };
  }
}

function dispose(command: ShellCommand): void {
  command.prompt.dispose();
  command.start?.dispose();
  command.end?.place.dispose();
}

/** A line of the emulator's buffer. */
export interface BufferLine {
  readonly isWrapped: boolean;
  translateToString(trimRight?: boolean, startColumn?: number, endColumn?: number): string;
}

/** The output of a command as text: lines that the emulator wrapped are joined. */
export function outputOf(command: ShellCommand, line: (at: number) => BufferLine | undefined, cursor: number): string {
  const { start, end } = command;
  if (start === undefined || start.isDisposed) return '';
  const last =
    end === undefined || end.place.isDisposed
      ? { line: cursor, column: 0 }
      : { line: end.place.line, column: end.column };
  let text = '';
  for (let at = start.line; at <= last.line; at++) {
    const row = line(at);
    if (row === undefined || (at === last.line && last.column === 0)) break;
    if (at > start.line && !row.isWrapped) text += '\n';
    const continues = line(at + 1)?.isWrapped === true && at < last.line;
    text += at === last.line ? row.translateToString(true, 0, last.column) : row.translateToString(!continues);
  }
  return text;
}
