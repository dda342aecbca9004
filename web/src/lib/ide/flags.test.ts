import { describe, expect, it } from 'vitest';
import { defaultOptions, flagsOf, readOptions } from './flags';

describe('compiler flags', () => {
  it('makes the flags of the requirements by default', () => {
    expect(flagsOf(defaultOptions('cpp'))).toEqual(['-std=c++17', '-O2', '-Wall']);
    expect(flagsOf(defaultOptions('c'))).toEqual(['-std=c17', '-O2', '-Wall']);
  });

  it('makes flags of every choice', () => {
    expect(
      flagsOf({
        ...defaultOptions('cpp'),
        optimisation: '-O0',
        debug: true,
        standard: 'c++20',
        warnings: 'error',
        extra: '-DNAME="a b" -pthread',
      }),
    ).toEqual(['-std=c++20', '-O0', '-g', '-Wall', '-Wextra', '-Werror', '-DNAME=a b', '-pthread']);
    expect(flagsOf({ ...defaultOptions('c'), standard: '', warnings: 'none', optimisation: '' })).toEqual([]);
  });

  it('reads what was remembered, and repairs it', () => {
    const options = { ...defaultOptions('cpp'), debug: true, sanitize: ['address'] };
    expect(readOptions(JSON.parse(JSON.stringify(options)), 'cpp')).toEqual(options);
    expect(readOptions(null, 'c')).toEqual(defaultOptions('c'));
    expect(readOptions({ optimisation: '-O9', sanitize: ['x'], extra: 3 }, 'c')).toEqual(defaultOptions('c'));
  });
});
