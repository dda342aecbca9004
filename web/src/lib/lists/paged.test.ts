import { describe, expect, it } from 'vitest';
import { merged, Paged, type PageOf } from './Paged.svelte';

const row = (id: string, text = ''): { id: string; text: string } => ({ id, text });
const ids = (items: readonly { id: string }[]): string => items.map((item) => item.id).join('');

describe('merged', () => {
  const known = ['d', 'c', 'b', 'a'].map((id) => row(id));

  it('puts new items first and keeps those beyond the head', () => {
    expect(ids(merged(known, [row('e'), row('d'), row('c')], false))).toBe('edcba');
  });

  it('takes over changes and removals within the head', () => {
    const result = merged(known, [row('d', 'new'), row('b')], false);
    expect(ids(result)).toBe('dba');
    expect(result[0]?.text).toBe('new');
  });

  it('is the head if that is all there is', () => {
    expect(ids(merged(known, [row('c')], true))).toBe('c');
  });

  it('keeps what is known if the head has moved on completely', () => {
    expect(ids(merged(known, [row('z'), row('y')], false))).toBe('zydcba');
  });
});

describe('Paged', () => {
  const pages: Record<string, PageOf<{ id: string; text: string }>> = {
    '': { items: [row('c'), row('b')], next_cursor: '1' },
    '1': { items: [row('b'), row('a')] },
  };

  it('loads page by page, each item once', async () => {
    const list = new Paged((cursor) => Promise.resolve(pages[cursor ?? ''] ?? { items: [] }));
    expect(list.isFirst).toBe(true);
    await list.start();
    expect(ids(list.items)).toBe('cb');
    expect([list.isFirst, list.hasMore]).toEqual([false, true]);
    await list.more();
    await list.more();
    expect(ids(list.items)).toBe('cba');
    expect(list.hasMore).toBe(false);
    list.put(row('b', 'new'));
    list.put(row('d'));
    list.remove('a');
    expect(ids(list.items)).toBe('dcb');
  });

  it('keeps the error and what was loaded before', async () => {
    let isBroken = false;
    const list = new Paged(() => (isBroken ? Promise.reject(new Error('no')) : Promise.resolve({ items: [row('a')] })));
    await list.start();
    isBroken = true;
    await list.start();
    expect((list.error as Error).message).toBe('no');
    expect(ids(list.items)).toBe('a');
  });

  it('ignores the answer to an older question', async () => {
    let answer = (_page: PageOf<{ id: string; text: string }>): void => undefined;
    const list = new Paged<{ id: string; text: string }>(() => new Promise((resolve) => (answer = resolve)));
    const first = list.start();
    const late = answer;
    await Promise.all([list.start(() => Promise.resolve({ items: [row('new')] }))]);
    late({ items: [row('old')] });
    await first;
    expect(ids(list.items)).toBe('new');
    expect(list.isLoading).toBe(false);
  });
});
