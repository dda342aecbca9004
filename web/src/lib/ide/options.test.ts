import { describe, expect, it } from 'vitest';
import { changedOptions, DEFAULT_OPTIONS, isLimit, readRunOptions, requestOf } from './options';

describe('run options', () => {
  it('become a request', () => {
    expect(requestOf(DEFAULT_OPTIONS)).toEqual({ args: [], env: {}, stdin: 'open' });
    expect(
      requestOf({
        args: '-v "a b"',
        stdin: 'text',
        stdinText: 'hi\n',
        env: 'A=1',
        timeout: '1.5',
        memory: '64',
      }),
    ).toEqual({
      args: ['-v', 'a b'],
      env: { A: '1' },
      stdin: { text: 'hi\n' },
      timeout_ms: 1500,
      limits: { memory_bytes: 67108864 },
    });
    expect(requestOf({ ...DEFAULT_OPTIONS, timeout: 'soon', memory: '-1' })).toEqual({
      args: [],
      env: {},
      stdin: 'open',
    });
  });

  it('are counted, checked and remembered', () => {
    expect(changedOptions(DEFAULT_OPTIONS)).toBe(0);
    expect(changedOptions({ ...DEFAULT_OPTIONS, args: 'x', stdin: 'none' })).toBe(2);
    expect(isLimit('')).toBe(true);
    expect(isLimit('0')).toBe(false);
    expect(isLimit('x')).toBe(false);
    expect(readRunOptions(null)).toEqual(DEFAULT_OPTIONS);
    expect(readRunOptions({ args: 'x', stdin: 'what' })).toEqual({ ...DEFAULT_OPTIONS, args: 'x' });
  });
});
