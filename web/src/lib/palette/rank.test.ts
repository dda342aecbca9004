// Tests of the ranking.
import { expect, test } from 'vitest';
import { rank, score } from './rank';

const labels = (query: string, ...entries: string[]): string[] =>
  rank(
    entries.map((label) => ({ label })),
    query,
  ).map(({ label }) => label);

test('without a query nothing is left out and the order stays', () => {
  expect(labels('', 'b', 'a')).toEqual(['b', 'a']);
});

test('the start of a word is better than the middle of one, and both are better than scattered letters', () => {
  expect(labels('set', 'Offset', 'Settings', 'Sessions tab')).toEqual(['Settings', 'Offset', 'Sessions tab']);
});

test('letters out of order do not match', () => {
  expect(score('Home', 'eh')).toBeNull();
  expect(score('Go to Home', 'gth')).not.toBeNull();
});

test('other words find an entry, after those that match by name', () => {
  const entries = [{ label: 'Appearance', also: 'theme dark light' }, { label: 'Theme: dark' }, { label: 'History' }];
  expect(rank(entries, 'dark').map(({ label }) => label)).toEqual(['Theme: dark', 'Appearance']);
});
