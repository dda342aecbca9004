// Tests of the resume logic: against a small model of the server, with connections that break at every byte.

import { describe, expect, it } from 'vitest';
import { isOutput, type EventFrame, type OutputFrame, type ServerFrame } from 'headwater';
import { Position } from './position';

const ATTACHED: EventFrame = {
  type: 'attached',
  execution_id: 'exe_1',
  name: 'main',
  rows: 24,
  cols: 80,
  read_only: false,
};

function output(seq: number, text: string): OutputFrame {
  return { type: 'output', seq, bytes: new TextEncoder().encode(text) };
}

/** What the server sends to a viewer that continues there, with output divided into parts of at most `credit` bytes. */
function* serve(
  log: { seq: number; text: string }[],
  after: number,
  skip: number,
  credit: number,
): Generator<ServerFrame> {
  yield ATTACHED;
  let before = after;
  let left = skip;
  for (const { seq, text } of log.filter((event) => event.seq > after)) {
    let rest = text.slice(Math.min(left, text.length));
    left -= text.length - rest.length;
    while (rest.length > credit) {
      yield output(before, rest.slice(0, credit));
      rest = rest.slice(credit);
    }
    yield output(seq, rest);
    before = seq;
  }
}

describe('position', () => {
  it('continues without a doubled or a lost byte, wherever the connection breaks', () => {
    const log = [
      { seq: 2, text: 'abcdefghij' },
      { seq: 3, text: 'k' },
      { seq: 7, text: 'lmnopqrstuvwxyz' },
    ];
    const all = log.map((event) => event.text).join('');
    for (const credit of [1, 3, 4, 100]) {
      for (let first = 0; first < 40; first++) {
        for (let second = 0; second < 12; second++) {
          const position = new Position();
          let shown = '';
          for (const frames of [first, second, 1000]) {
            position.connecting();
            const { after, skip } = position.resume ?? { after: 0, skip: 0 };
            let left = frames;
            for (const frame of serve(log, after, skip, credit)) {
              if (left-- <= 0) break;
              expect(position.take(frame)).toBe('keep');
              if (isOutput(frame)) shown += new TextDecoder().decode(frame.bytes);
            }
          }
          expect(shown).toBe(all);
        }
      }
    }
  });

  it('begins again with a new screen if it got only part of one', () => {
    const position = new Position();
    position.connecting();
    position.take(ATTACHED);
    position.take({ type: 'snapshot', seq: 40, rows: 24, cols: 80, title: '', bytes: 6 });
    position.take(output(40, 'abc'));
    expect(position.resume).toBeUndefined();
    position.take(output(40, 'def'));
    expect(position.resume).toEqual({ executionId: 'exe_1', after: 40, skip: 0 });
    position.take(output(41, 'g'));
    expect(position.resume).toEqual({ executionId: 'exe_1', after: 41, skip: 0 });
  });

  it('is moved by events that carry a seq, and not by marks', () => {
    const position = new Position();
    position.take(ATTACHED);
    position.take({ type: 'gap', seq: 1 } as EventFrame);
    position.take(output(2, 'a'));
    position.take(output(2, 'part'));
    position.take({ type: 'prompt', seq: 2 });
    expect(position.resume).toEqual({ executionId: 'exe_1', after: 2, skip: 4 });
    position.take({ type: 'exited', seq: 5 } as EventFrame);
    expect(position.resume).toEqual({ executionId: 'exe_1', after: 5, skip: 0 });
  });

  it('clears the screen if another terminal has the name, and starts over if bytes of it were skipped', () => {
    const other: EventFrame = { ...ATTACHED, execution_id: 'exe_2' };
    const whole = new Position();
    whole.take(ATTACHED);
    whole.take(output(2, 'a'));
    whole.connecting();
    expect(whole.take(other)).toBe('clear');
    expect(whole.executionId).toBe('exe_2');
    expect(whole.resume).toBeUndefined();

    const part = new Position();
    part.take(ATTACHED);
    part.take(output(2, 'a'));
    part.take(output(2, 'part'));
    part.connecting();
    expect(part.take(other)).toBe('restart');
    expect(part.resume).toBeUndefined();
  });
});
