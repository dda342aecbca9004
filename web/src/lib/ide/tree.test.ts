import { expect, test } from 'vitest';
import type { Files, Listing } from './files';
import { FileTree } from './tree.svelte';

test('an answer that a newer one has overtaken is not shown', async () => {
  const answers: ((listing: Listing) => void)[] = [];
  const files = { list: () => new Promise<Listing>((resolve) => answers.push(resolve)) };
  const tree = new FileTree(files as unknown as Files);
  const listing = (name: string): Listing =>
    ({ entries: [{ path: name, name, type: 'file' }], isComplete: true }) as unknown as Listing;
  const [older, newer] = [tree.load(''), tree.load('')];
  answers[1]?.(listing('new.py'));
  answers[0]?.(listing('old.py'));
  await Promise.all([older, newer]);
  expect(tree.has('new.py')).toBe(true);
  expect(tree.has('old.py')).toBe(false);
});
