// Names that models give to languages: which colours they get, and which language of the server runs them.

const GRAMMARS: Record<string, string> = {
  py: 'python',
  python3: 'python',
  js: 'node',
  jsx: 'node',
  ts: 'node',
  tsx: 'node',
  javascript: 'node',
  typescript: 'node',
  json: 'node',
  jsonc: 'node',
  sh: 'bash',
  shell: 'bash',
  zsh: 'bash',
  dockerfile: 'bash',
  makefile: 'bash',
  toml: 'bash',
  yaml: 'bash',
  yml: 'bash',
  ini: 'bash',
  'c++': 'cpp',
  cc: 'cpp',
  h: 'c',
  hpp: 'cpp',
  rs: 'rust',
  golang: 'go',
  kotlin: 'java',
  csharp: 'java',
  rb: 'ruby',
  pl: 'perl',
};

const RUNNABLE: Record<string, string> = {
  py: 'python',
  python: 'python',
  python3: 'python',
  js: 'node',
  javascript: 'node',
  node: 'node',
  ts: 'typescript',
  typescript: 'typescript',
  sh: 'bash',
  bash: 'bash',
  shell: 'bash',
  c: 'c',
  cpp: 'cpp',
  'c++': 'cpp',
  rust: 'rust',
  rs: 'rust',
  go: 'go',
  golang: 'go',
  java: 'java',
  ruby: 'ruby',
  rb: 'ruby',
  perl: 'perl',
  php: 'php',
  lua: 'lua',
  r: 'r',
};

/** The name of the grammar for `highlight`. */
export function grammarOf(language: string): string {
  return Object.hasOwn(GRAMMARS, language) ? (GRAMMARS[language] ?? language) : language;
}

/** The language of the server that runs such code, or null. */
export function runnable(language: string): string | null {
  return Object.hasOwn(RUNNABLE, language) ? (RUNNABLE[language] ?? null) : null;
}
