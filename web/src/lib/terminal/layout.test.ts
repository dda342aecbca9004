// Tests of the layout of terminals.

import { describe, expect, it } from 'vitest';
import { add, detach, EMPTY, freeName, isLayout, label, reconcile, remove } from './layout';
import type { Layout } from './layout';

const shape = (layout: Layout): string =>
  `${layout.tabs.map((tab) => tab.names.join(tab.direction === 'horizontal' ? '|' : '/')).join(' ')} @${String(layout.active)}`;

function of(...names: string[]): Layout {
  return names.reduce((layout, name) => add(layout, name), EMPTY);
}

describe('layout', () => {
  it('adds tabs and splits', () => {
    let layout = of('a', 'b');
    layout = add(layout, 'c', { name: 'a', direction: 'vertical' });
    expect(shape(layout)).toBe('a/c b @c');
    layout = add(layout, 'd', { name: 'a', direction: 'horizontal' });
    expect(shape(layout)).toBe('a/d/c b @d');
    expect(shape(add(layout, 'b'))).toBe('a/d/c b @b');
    expect(shape(detach(layout, 'd'))).toBe('a/c b d @d');
    expect(shape(detach(layout, 'b'))).toBe(shape(layout));
  });

  it('removes, and goes to a neighbour', () => {
    expect(shape(remove(of('a', 'b', 'c'), 'c'))).toBe('a b @b');
    expect(shape(remove(add(of('a', 'b'), 'a'), 'a'))).toBe('b @b');
    expect(shape(remove(of('a', 'b'), 'a'))).toBe('b @b');
    const split = add(of('a', 'b'), 'c', { name: 'a', direction: 'horizontal' });
    expect(shape(remove(split, 'c'))).toBe('a b @a');
    expect(shape(remove(of('a'), 'a'))).toBe(' @undefined');
  });

  it('follows the terminals that run', () => {
    const split = add(of('a', 'b'), 'c', { name: 'a', direction: 'horizontal' });
    expect(shape(reconcile(split, ['c', 'x']))).toBe('c x @c');
    expect(shape(reconcile(split, []))).toBe(' @undefined');
    const again = reconcile(reconcile(split, ['c']), ['c', 'a']);
    expect(new Set(again.tabs.map((tab) => tab.id)).size).toBe(2);
  });

  it('labels terminals, and finds free names', () => {
    expect(label(EMPTY, 'a', '  build ').labels).toEqual({ a: 'build' });
    expect(label(label(EMPTY, 'a', 'build'), 'a', '').labels).toEqual({});
    expect([freeName([]), freeName(['main']), freeName(['main', 'shell-2'])]).toEqual(['main', 'shell-2', 'shell-3']);
  });

  it('recognises what it stored', () => {
    const stored: unknown = JSON.parse(JSON.stringify(of('a', 'b')));
    expect(isLayout(stored)).toBe(true);
    for (const bad of [
      null,
      {},
      { tabs: [1], labels: {} },
      { tabs: [{ id: 'a', direction: 'x', names: [] }], labels: {} },
    ]) {
      expect(isLayout(bad)).toBe(false);
    }
  });
});
