import { expect, test } from 'vitest';
import { opened, pathOf } from './ports';

test('only a port that opens while the page is open is news', () => {
  expect(opened(null, [8000])).toEqual([]);
  expect(opened([], [8000])).toEqual([8000]);
  expect(opened([8000], [8000, 9000])).toEqual([9000]);
  expect(opened([8000], [])).toEqual([]);
});

test('a typed address is a path within the preview', () => {
  expect(pathOf('/a?b#c')).toBe('/a?b#c');
  expect(pathOf(' docs ')).toBe('/docs');
  expect(pathOf('')).toBe('/');
  // An address of another site stays a path.
  expect(pathOf('https://example.org')).toBe('/https://example.org');
});
