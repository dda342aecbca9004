// Which language a file is in: for the run bar (the server's registry, by suffix) and for Monaco (its own ids).
import { nameOf, suffixOf } from './paths';

/** What the run bar needs of an entry of `GET /v1/languages`. */
export interface KnownLanguage {
  name: string;
  suffixes?: string[];
  icon?: string;
  available: boolean;
  package?: string | null;
  can_build?: boolean;
}

/** The language of the registry that a file belongs to. Suffixes are compared as written, then without case. */
export function languageOf<T extends KnownLanguage>(path: string, registry: readonly T[]): T | null {
  const suffix = suffixOf(path);
  if (suffix === '') return null;
  const has = (wanted: string) => registry.find((entry) => entry.suffixes?.includes(wanted));
  return has(suffix) ?? has(suffix.toLowerCase()) ?? null;
}

const LABELS: Record<string, string> = {
  bash: 'Bash',
  c: 'C',
  cpp: 'C++',
  go: 'Go',
  java: 'Java',
  lua: 'Lua',
  node: 'JavaScript',
  perl: 'Perl',
  php: 'PHP',
  python: 'Python',
  r: 'R',
  ruby: 'Ruby',
  rust: 'Rust',
  typescript: 'TypeScript',
};

/** The name of a language for people. Languages that an operator added are shown as they are named. */
export function labelOf(name: string): string {
  return LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
}

const BY_NAME: Record<string, string> = {
  'CMakeLists.txt': 'cmake',
  Dockerfile: 'dockerfile',
  Makefile: 'makefile',
  makefile: 'makefile',
  GNUmakefile: 'makefile',
  '.bashrc': 'shell',
  '.profile': 'shell',
  '.gitignore': 'plaintext',
  'go.mod': 'plaintext',
};

const BY_SUFFIX: Record<string, string> = {
  bash: 'shell',
  bat: 'bat',
  c: 'c',
  'c++': 'cpp',
  cc: 'cpp',
  cfg: 'ini',
  cjs: 'javascript',
  conf: 'ini',
  cpp: 'cpp',
  cs: 'csharp',
  css: 'css',
  cts: 'typescript',
  cxx: 'cpp',
  dart: 'dart',
  go: 'go',
  graphql: 'graphql',
  h: 'cpp',
  hpp: 'cpp',
  hh: 'cpp',
  htm: 'html',
  html: 'html',
  ini: 'ini',
  java: 'java',
  jl: 'julia',
  js: 'javascript',
  json: 'json',
  jsonc: 'json',
  jsx: 'javascript',
  kt: 'kotlin',
  less: 'less',
  lua: 'lua',
  md: 'markdown',
  mjs: 'javascript',
  mts: 'typescript',
  php: 'php',
  pl: 'perl',
  pm: 'perl',
  proto: 'proto',
  ps1: 'powershell',
  py: 'python',
  pyi: 'python',
  pyw: 'python',
  r: 'r',
  rb: 'ruby',
  rs: 'rust',
  scala: 'scala',
  scss: 'scss',
  sh: 'shell',
  sql: 'sql',
  svelte: 'html',
  svg: 'xml',
  swift: 'swift',
  toml: 'ini',
  ts: 'typescript',
  tsx: 'typescript',
  vue: 'html',
  xml: 'xml',
  yaml: 'yaml',
  yml: 'yaml',
  zsh: 'shell',
};

/** Monaco's id of the language of a file; `plaintext` if there is none. */
export function monacoLanguageOf(path: string): string {
  const name = nameOf(path);
  const suffix = suffixOf(path);
  return BY_NAME[name] ?? (suffix === 'C' ? 'cpp' : (BY_SUFFIX[suffix.toLowerCase()] ?? 'plaintext'));
}

const MONACO_LABELS: Record<string, string> = {
  plaintext: 'Plain text',
  cpp: 'C++',
  csharp: 'C#',
  css: 'CSS',
  cmake: 'CMake',
  html: 'HTML',
  ini: 'INI',
  javascript: 'JavaScript',
  json: 'JSON',
  php: 'PHP',
  sql: 'SQL',
  shell: 'Shell',
  typescript: 'TypeScript',
  xml: 'XML',
  yaml: 'YAML',
};

/** The name of a Monaco language for the status bar. */
export function monacoLabelOf(id: string): string {
  return MONACO_LABELS[id] ?? id.charAt(0).toUpperCase() + id.slice(1);
}
