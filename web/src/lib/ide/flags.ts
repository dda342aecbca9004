// The compiler flags dialog (requirement 311) without its view: what can be chosen, and the flags that it makes.
import { splitWords } from './words';

export interface CompilerOptions {
  optimisation: '' | '-O0' | '-O1' | '-O2' | '-O3' | '-Os' | '-Og';
  debug: boolean;
  /** The standard of the language, such as `c++17`; empty: the compiler's own. */
  standard: string;
  warnings: 'none' | 'all' | 'extra' | 'error';
  extra: string;
  sanitize: string[];
  /** Further sources of the program, besides the file that is built. */
  sources: string;
}

export const OPTIMISATIONS: readonly CompilerOptions['optimisation'][] = ['-O0', '-Og', '-O1', '-O2', '-O3', '-Os'];
export const STANDARDS = {
  c: ['c99', 'c11', 'c17', 'gnu17'],
  cpp: ['c++11', 'c++14', 'c++17', 'c++20', 'c++23', 'gnu++20'],
} as const;
export const SANITIZERS = ['address', 'undefined', 'thread'] as const;

/** What is used until somebody chooses something else: the flags of requirement 258, with warnings. */
export function defaultOptions(language: 'c' | 'cpp'): CompilerOptions {
  return {
    optimisation: '-O2',
    debug: false,
    standard: language === 'cpp' ? 'c++17' : 'c17',
    warnings: 'all',
    extra: '',
    sanitize: [],
    sources: '',
  };
}

/** The flags, in the order in which people write them. */
export function flagsOf(options: CompilerOptions): string[] {
  const flags: string[] = [];
  if (options.standard !== '') flags.push(`-std=${options.standard}`);
  if (options.optimisation !== '') flags.push(options.optimisation);
  if (options.debug) flags.push('-g');
  if (options.warnings !== 'none') flags.push('-Wall');
  if (options.warnings === 'extra' || options.warnings === 'error') flags.push('-Wextra');
  if (options.warnings === 'error') flags.push('-Werror');
  return [...flags, ...splitWords(options.extra)];
}

/** Reads remembered options; anything that does not fit is replaced by its default. */
export function readOptions(stored: unknown, language: 'c' | 'cpp'): CompilerOptions {
  const base = defaultOptions(language);
  if (typeof stored !== 'object' || stored === null) return base;
  const from = stored as Partial<Record<keyof CompilerOptions, unknown>>;
  const text = (value: unknown, fallback: string) => (typeof value === 'string' ? value : fallback);
  const optimisation = OPTIMISATIONS.find((level) => level === from.optimisation);
  const warnings = (['none', 'all', 'extra', 'error'] as const).find((level) => level === from.warnings);
  return {
    optimisation: optimisation ?? base.optimisation,
    debug: from.debug === true,
    standard: text(from.standard, base.standard),
    warnings: warnings ?? base.warnings,
    extra: text(from.extra, ''),
    sanitize: Array.isArray(from.sanitize)
      ? SANITIZERS.filter((name) => (from.sanitize as unknown[]).includes(name))
      : [],
    sources: text(from.sources, ''),
  };
}
