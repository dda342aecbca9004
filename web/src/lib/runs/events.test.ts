// The reducer of events: each event counts once.
import { describe, expect, it } from 'vitest';
import { byteLength, NEW_RUN, reduce, utf8Length, type LogEvent } from './events';

const log: LogEvent[] = [
  { type: 'started', seq: 1, at_ms: 0, pid: 2 },
  { type: 'stdout', seq: 2, at_ms: 3, offset: 0, text: 'é\n' },
  { type: 'stderr', seq: 5, at_ms: 4, offset: 0, base64: '/w==' },
  { type: 'gap', seq: 6, at_ms: 4, stream: 'stdout', from_byte: 3, to_byte: 10 },
  {
    type: 'exited',
    seq: 7,
    at_ms: 9,
    reason: 'exited',
    code: 3,
    duration_ms: 9,
    usage: { cpu_ms: 1, max_rss_bytes: 2 },
  },
  { type: 'closed', seq: 8, at_ms: 9 },
];

describe('reduce', () => {
  it('follows an execution to its end', () => {
    const end = log.reduce(reduce, NEW_RUN);
    expect(end).toMatchObject({
      phase: 'closed',
      lastSeq: 8,
      stdoutBytes: 10,
      stderrBytes: 1,
      gapBytes: 7,
      durationMs: 9,
    });
    expect(end.exit?.code).toBe(3);
  });

  it('takes a gap with the seq of the event before it, once', () => {
    const before = log.slice(0, 3).reduce(reduce, NEW_RUN);
    const gap: LogEvent = { type: 'gap', seq: 5, at_ms: 4, stream: 'stdout', from_byte: 3, to_byte: 10 };
    const after = reduce(before, gap);
    expect(after.gapBytes).toBe(7);
    expect(reduce(after, gap)).toBe(after);
  });

  it('ignores what it has seen', () => {
    let state = NEW_RUN;
    for (const event of log) {
      state = reduce(state, event);
      for (const seen of log.filter((one) => one.seq <= event.seq)) expect(reduce(state, seen)).toBe(state);
    }
  });

  it('counts bytes', () => {
    for (const text of ['', 'a', 'é', '€', '😀', 'aé€😀'])
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
    expect(byteLength({ type: 'stdout', seq: 1, at_ms: 0, offset: 0, base64: 'AAA=' })).toBe(2);
  });
});
