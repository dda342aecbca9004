// Tests of the one-line commands.
import { describe, expect, test } from 'vitest';
import { commandText, isShell } from './commandText';

describe('command on one line', () => {
  test.each([
    [{ argv: ['ls', '-l'] }, 'ls -l'],
    [{ argv: ['/bin/bash', '-lc', 'make test'] }, 'make test'],
    [{ argv: ['gcc', '-c', 'a.c'] }, 'gcc -c a.c'],
    [{ shell: 'seq 10 | wc -l' }, 'seq 10 | wc -l'],
    [{ code: { language: 'python', code: '# why\nimport os\n\nprint(1)\n' } }, 'print(1)'],
    [{ code: { language: 'python', code: 'import os', file: 'src/a.py' } }, 'src/a.py'],
    [{ code: { language: 'python', code: 'import os\n' } }, 'import os'],
  ])('%j', (command, text) => expect(commandText({ command })).toBe(text));
});

test('a shell in a terminal is not work, a program in one is', () => {
  const tty = { rows: 24, cols: 80 };
  expect(isShell({ command: { argv: ['/bin/bash', '-l'] }, tty })).toBe(true);
  expect(isShell({ command: { argv: ['/bin/bash', '-l'] }, tty: null })).toBe(false);
  expect(isShell({ command: { argv: ['bash', 'deploy.sh'] }, tty })).toBe(false);
  expect(isShell({ command: { argv: ['vim'] }, tty })).toBe(false);
});
