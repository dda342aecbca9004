// Tests of the asciicast parser and of the time axis with shortened pauses.

import { describe, expect, it } from 'vitest';
import { CastError, convertTime, eventsUntil, parseCast } from './asciicast';

const V3 = [
  '{"version":3,"term":{"cols":100,"rows":30,"type":"xterm-256color"},"timestamp":1,"title":"exe_1"}',
  '# a comment',
  '[0.25,"o","a"]',
  '[0.05,"r","80x40"]',
  '[10,"o","b\\r\\n"]',
  '[0,"m","a gap"]',
  '[0.1,"i","typed"]',
  '[0.1,"x","3"]',
  '',
].join('\n');

describe('asciicast', () => {
  it('version 3 counts from the previous event, and pauses are shortened', () => {
    const recording = parseCast(V3, 1);
    expect([recording.rows, recording.cols, recording.title]).toEqual([30, 100, 'exe_1']);
    expect(recording.events.map((event) => event.code).join('')).toBe('ormox'.replace('mo', 'om'));
    expect(recording.events.map((event) => event.at)).toEqual(
      [0.25, 0.3, 10.3, 10.3, 10.5].map((at) => expect.closeTo(at) as number),
    );
    expect(recording.duration).toBeCloseTo(10.5);
    expect(recording.played).toBeCloseTo(1.5);
    expect(recording.events[1]).toMatchObject({ code: 'r', rows: 40, cols: 80 });
    expect(recording.events[4]).toMatchObject({ code: 'x', status: 3 });
  });

  it('version 2 counts from the beginning', () => {
    const recording = parseCast('{"version":2,"width":90,"height":20}\n[1,"o","a"]\n[1.5,"o","b"]');
    expect([recording.rows, recording.cols]).toEqual([20, 90]);
    expect(recording.events.map((event) => event.at)).toEqual([1, 1.5]);
  });

  it('marks the commands of the shell', () => {
    const mark = String.raw`\u001b]633;E;echo a\\x3b b \\\\;hw=0000\u0007`;
    const recording = parseCast(`{"version":3,"term":{"cols":80,"rows":24}}\n[1,"o","$ ${mark}out${mark}"]`);
    expect(recording.events.filter((event) => event.code === 'm')).toEqual([
      { at: 1, played: 1, code: 'm', label: 'echo a; b \\' },
      { at: 1, played: 1, code: 'm', label: 'echo a; b \\' },
    ]);
  });

  it('leaves out what is malformed, and says how much', () => {
    const recording = parseCast('{"version":3,"term":{"cols":1e9,"rows":-1}}\n[1,"o"]\n{}\n[0,"o","x"]\n[0.5,"o","cut');
    expect(recording).toMatchObject({ rows: 24, cols: 80, skipped: 3 });
    expect(recording.events).toHaveLength(1);
    for (const bad of ['', '[]', '{"version":1}', 'x', '{"version":9}']) {
      expect(() => parseCast(bad), bad).toThrow(CastError);
    }
  });

  it('finds the events up to a time, and the same moment on the other axis', () => {
    const recording = parseCast(V3, 1);
    expect([0, 0.25, 0.26, 5, 10.3, 99].map((time) => eventsUntil(recording, time, true))).toEqual([0, 1, 1, 2, 4, 5]);
    expect([0, 1.29, 1.31].map((time) => eventsUntil(recording, time, false))).toEqual([0, 2, 4]);
    expect(convertTime(recording, 10.4, true)).toBeCloseTo(1.4);
    expect(convertTime(recording, 1.4, false)).toBeCloseTo(10.4);
    expect(convertTime(recording, 5, true)).toBeCloseTo(1.3);
    expect(convertTime(recording, 0, true)).toBe(0);
  });
});
