import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Deferred } from './deferred';

describe('Deferred', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('sends after the delay', () => {
    const send = vi.fn();
    const all = new Deferred();
    all.schedule('a', 1000, send);
    vi.advanceTimersByTime(999);
    expect(send).not.toHaveBeenCalled();
    expect(all.has('a')).toBe(true);
    vi.advanceTimersByTime(1);
    expect(send).toHaveBeenCalledExactlyOnceWith(false);
    expect(all.has('a')).toBe(false);
  });

  it('does not send what was undone', () => {
    const send = vi.fn();
    const all = new Deferred();
    all.schedule('a', 1000, send);
    expect(all.undo('a')).toBe(true);
    expect(all.undo('a')).toBe(false);
    vi.runAllTimers();
    all.flush();
    expect(send).not.toHaveBeenCalled();
  });

  it('sends everything once when the page goes', () => {
    const send = vi.fn();
    const all = new Deferred();
    all.schedule('a', 1000, send);
    all.schedule('b', 1000, send);
    all.flush();
    vi.runAllTimers();
    expect(send.mock.calls).toEqual([[true], [true]]);
  });
});
