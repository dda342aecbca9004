// One line of text for the command of an execution, for lists, titles and the palette.
import type { Execution } from 'headwater';

/** What a shell is given to run (`bash -lc '...'`): the part that a person would have typed. */
export function scriptOf(argv: readonly string[]): string | null {
  const [program = '', flag = '', script] = argv;
  const isShell = /^-\w*c$/.test(flag) && /(^|\/)(ba|da|z|k)?sh$/.test(program);
  return isShell && argv.length === 3 && script !== undefined ? script : null;
}

/** The command line, or the first line of the code that says something. */
export function commandText({ command }: Pick<Execution, 'command'>): string {
  if ('argv' in command) {
    return scriptOf(command.argv) ?? command.argv.join(' ');
  }
  if ('shell' in command) return command.shell;
  const { language, code, file } = command.code;
  if (file) return file;
  const line = code
    .split('\n')
    .map((text) => text.trim())
    .find((text) => text !== '' && !/^(#|\/\/|\/\*|import |from |use |package |using )/.test(text));
  return line ?? code.trim().split('\n')[0] ?? language;
}

/** Whether it is a shell in a terminal, waiting for a person. It is no work that runs. */
export function isShell({ command, tty }: Pick<Execution, 'command' | 'tty'>): boolean {
  if (!tty || !('argv' in command)) return false;
  const [program = '', ...rest] = command.argv;
  return /(^|\/)(ba|da|z|k|fi)?sh$/.test(program) && rest.every((argument) => /^-[li]+$/.test(argument));
}
