import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Early } from './early';

/** Counts who follows it. */
class Item {
  users = 0;
  opened = 0;

  open(): () => void {
    this.users += 1;
    this.opened += 1;
    return () => (this.users -= 1);
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a card takes over what is followed already, without a pause', () => {
  const early = new Early(() => new Item());
  early.begin('a');
  early.begin('a');
  const { item, release } = early.take('a');
  expect(item.users).toBe(1);
  item.open();
  release();
  vi.runAllTimers();
  expect([item.users, item.opened]).toEqual([1, 2]);
  expect(early.take('a').item, 'the next card has one of its own').not.toBe(item);
});

test('without a card it ends, and a card that comes later begins anew', () => {
  const made: Item[] = [];
  const early = new Early(() => {
    const item = new Item();
    made.push(item);
    return item;
  });
  early.begin('a');
  vi.runAllTimers();
  expect(made[0]?.users).toBe(0);
  expect(early.take('a').item).not.toBe(made[0]);
});

test('few are followed early: a browser has few connections', () => {
  const made: string[] = [];
  const early = new Early((id) => {
    made.push(id);
    return new Item();
  });
  for (const id of ['a', 'b', 'c', 'd']) early.begin(id);
  expect(made).toEqual(['a', 'b']);
  early.take('a').release();
  early.begin('d');
  expect(made).toEqual(['a', 'b', 'd']);
});
