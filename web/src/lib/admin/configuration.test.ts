import type { Setting } from 'headwater';
import { describe, expect, it } from 'vitest';
import { filterSettings, shownValue } from './configuration';

const settings: Setting[] = [
  { key: 'limits.memory', value: '2Gi', default: '2Gi', source: 'default' },
  { key: 'network.registries', value: ['pypi.org', 'registry.npmjs.org'], default: [], source: 'default' },
  { key: 'packages.python_index', value: 'https://***@pypi.org/simple', default: null, source: 'file' },
  { key: 'pool', value: 8, default: 4, source: 'default', running: 4 },
];
const keys = (text: string, onlyChanged = false) => filterSettings(settings, text, onlyChanged).map(({ key }) => key);

describe('settings', () => {
  it('are filtered by name, value and source, whatever the case', () => {
    expect(keys('')).toHaveLength(4);
    expect(keys('PYPI')).toEqual(['network.registries', 'packages.python_index']);
    expect(keys('pypi file')).toEqual(['packages.python_index']);
    expect(keys('no such setting')).toEqual([]);
  });

  it('are changed if somebody set them or the running worker has another value', () => {
    expect(keys('', true)).toEqual(['packages.python_index', 'pool']);
  });

  it('have values that people can read', () => {
    expect([null, '', [], {}].map(shownValue)).toEqual(['not set', 'empty', 'empty', 'empty']);
    expect(shownValue(['a', 1])).toBe('a, 1');
    expect(shownValue({ a: [1] })).toBe('{"a":[1]}');
    expect(shownValue(false)).toBe('false');
  });
});
