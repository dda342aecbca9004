// Recordings of terminals in the format asciicast, versions 2 and 3: a header line, then one JSON array for each event,
// `[time, code, data]`. In version 3 a time is the number of seconds since the previous event.

/** Pauses between events are shortened to this, in seconds. */
export const IDLE_LIMIT_S = 1.5;

/** The largest size that a recording may ask for: it comes from a file. */
const MAX_CELLS = 1000;

export type CastEvent =
  | { at: number; played: number; code: 'o'; data: string }
  | { at: number; played: number; code: 'r'; rows: number; cols: number }
  | { at: number; played: number; code: 'm'; label: string }
  | { at: number; played: number; code: 'x'; status: number };

export interface Recording {
  rows: number;
  cols: number;
  title: string;
  /** In the order of their times. `at` is the time in the program, `played` that with pauses shortened; in seconds. */
  events: CastEvent[];
  /** The time of the last event. */
  duration: number;
  /** The same with pauses shortened. */
  played: number;
  /** Lines that could not be read. */
  skipped: number;
}

/** A recording that cannot be read at all. */
export class CastError extends Error {}

/** Reads a recording. Lines that are malformed, such as the last one of a recording that was cut, are counted and left out. */
export function parseCast(text: string, idleLimit = IDLE_LIMIT_S): Recording {
  const lines = text.split('\n');
  const header = parseHeader(lines[0] ?? '');
  const recording: Recording = { ...header.size, title: header.title, events: [], duration: 0, played: 0, skipped: 0 };
  let [at, played] = [0, 0];
  for (const line of lines.slice(1)) {
    // Version 3 has comments.
    if (line.trim() === '' || line.startsWith('#')) continue;
    const entry = parseLine(line);
    if (entry === undefined) {
      recording.skipped += 1;
      continue;
    }
    const pause = Math.max(0, header.version === 3 ? entry.time : entry.time - at);
    at += pause;
    played += Math.min(pause, idleLimit);
    const event = readEvent(entry.code, entry.data, at, played);
    if (event === undefined) continue;
    recording.events.push(event);
    if (event.code !== 'o') continue;
    for (const label of commandLines(event.data)) recording.events.push({ at, played, code: 'm', label });
  }
  recording.duration = at;
  recording.played = played;
  return recording;
}

interface Header {
  version: number;
  size: { rows: number; cols: number };
  title: string;
}

function parseHeader(line: string): Header {
  const header = json(line);
  if (!isRecord(header)) throw new CastError('the first line is not a header of an asciicast');
  const version = header['version'];
  if (version !== 2 && version !== 3) throw new CastError(`version ${String(version)} of asciicast is not supported`);
  const terminal = version === 3 && isRecord(header['term']) ? header['term'] : undefined;
  const rows = cells(terminal === undefined ? header['height'] : terminal['rows'], 24);
  const cols = cells(terminal === undefined ? header['width'] : terminal['cols'], 80);
  const title = header['title'];
  return { version, size: { rows, cols }, title: typeof title === 'string' ? title : '' };
}

function parseLine(line: string): { time: number; code: string; data: string } | undefined {
  const value = json(line);
  if (!Array.isArray(value)) return undefined;
  const [time, code, data] = value as unknown[];
  if (typeof time !== 'number' || typeof code !== 'string' || typeof data !== 'string') return undefined;
  return { time, code, data };
}

/** An event that a player shows; undefined for input and codes of later versions. */
function readEvent(code: string, data: string, at: number, played: number): CastEvent | undefined {
  switch (code) {
    case 'o':
      return { at, played, code, data };
    case 'r': {
      const [cols, rows] = data.split('x').map(Number);
      return { at, played, code, rows: cells(rows, 24), cols: cells(cols, 80) };
    }
    case 'm':
      return { at, played, code, label: data };
    case 'x':
      return { at, played, code, status: Number(data) };
    default:
      return undefined;
  }
}

/** The command lines that a shell of Headwater reports in its output (OSC 633;E). */
function commandLines(data: string): string[] {
  const marks = data.matchAll(/\u001b\]633;E;([^\u0007\u001b]*);hw=0+\u0007/g);
  return Array.from(marks, ([, line = '']) => unescapeMark(line));
}

/** A mark writes `;`, `\` and control characters as `\xHH`. */
function unescapeMark(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|\\)/gi, (_all, hex: string | undefined) =>
    hex === undefined ? '\\' : String.fromCharCode(parseInt(hex, 16)),
  );
}

function cells(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 1 && value <= MAX_CELLS ? Math.floor(value) : otherwise;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The number of events up to this time. `idle`: whether times count pauses in full. */
export function eventsUntil(recording: Recording, time: number, idle: boolean): number {
  let [low, high] = [0, recording.events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const event = recording.events[middle];
    if (event !== undefined && timeOf(event, idle) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The time of an event, with pauses in full or shortened. */
export function timeOf(event: CastEvent, idle: boolean): number {
  return idle ? event.at : event.played;
}

/** The same moment, on the other time axis. */
export function convertTime(recording: Recording, time: number, fromIdle: boolean): number {
  const next = eventsUntil(recording, time, fromIdle);
  const before = recording.events[next - 1];
  if (before === undefined) return 0;
  const since = time - timeOf(before, fromIdle);
  const after = recording.events[next];
  const room = after === undefined ? 0 : timeOf(after, !fromIdle) - timeOf(before, !fromIdle);
  return timeOf(before, !fromIdle) + Math.min(since, room);
}
