import { describe, expect, it } from 'vitest';
import { labelOf, languageOf, monacoLabelOf, monacoLanguageOf } from './languages';

const registry = [
  { name: 'c', suffixes: ['c'], available: true },
  { name: 'cpp', suffixes: ['cpp', 'cc', 'cxx', 'c++', 'C'], available: true },
  { name: 'python', suffixes: ['py', 'pyw'], available: true },
  { name: 'r', suffixes: ['R', 'r'], available: false },
  { name: 'zig', available: true },
];

describe('languages', () => {
  it('finds the language of the registry by suffix', () => {
    expect(languageOf('src/main.py', registry)?.name).toBe('python');
    expect(languageOf('MAIN.PY', registry)?.name).toBe('python');
    expect(languageOf('a.c', registry)?.name).toBe('c');
    expect(languageOf('a.C', registry)?.name).toBe('cpp');
    expect(languageOf('a.c++', registry)?.name).toBe('cpp');
    expect(languageOf('Makefile', registry)).toBe(null);
    expect(languageOf('py', registry)).toBe(null);
    expect(languageOf('.py', registry)).toBe(null);
  });

  it('names languages for people', () => {
    expect(labelOf('cpp')).toBe('C++');
    expect(labelOf('zig')).toBe('Zig');
    expect(monacoLabelOf('python')).toBe('Python');
    expect(monacoLabelOf('plaintext')).toBe('Plain text');
  });

  it('finds the language for Monaco by name, then by suffix', () => {
    expect(monacoLanguageOf('a/CMakeLists.txt')).toBe('cmake');
    expect(monacoLanguageOf('a.C')).toBe('cpp');
    expect(monacoLanguageOf('a.c')).toBe('c');
    expect(monacoLanguageOf('Makefile')).toBe('makefile');
    expect(monacoLanguageOf('x.unknown')).toBe('plaintext');
    expect(monacoLanguageOf('picture.SVG')).toBe('xml');
  });
});
