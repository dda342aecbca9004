// Tests of the order of languages.
import { expect, test } from 'vitest';
import { sampleOf, sortLanguages, titleOf } from './samples';

test('installed languages come first, and Python before the others', () => {
  const languages = [
    { name: 'go', available: false },
    { name: 'bash', available: true },
    { name: 'python', available: true },
    { name: 'c', available: true },
  ];
  expect(sortLanguages(languages).map(({ name }) => name)).toEqual(['python', 'bash', 'c', 'go']);
});

test('a language of the operator has its own name and no sample', () => {
  expect(titleOf('zig')).toBe('zig');
  expect(sampleOf('zig')).toBe('');
});
