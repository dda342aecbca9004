// A stand-in for a shell in the development build, for work on the page without a server. It never reaches production: it
// is imported only where `import.meta.env.DEV` is true.

import type { Terminal } from '@xterm/xterm';

const PROMPT = '\x1b[1;34msimulated\x1b[0m$ ';

const ANSWERS: Record<string, (rest: string) => string> = {
  help: () => 'simulated commands: help, echo, date, colours, clear',
  echo: (rest) => rest,
  date: () => new Date().toString(),
  colours: () => Array.from({ length: 8 }, (_, at) => `\x1b[3${String(at)}m■\x1b[0m`).join(' '),
  clear: () => '\x1b[H\x1b[2J\x1b[3J',
};

/** Answers what is typed. Returns a function that stops it. */
export function startSimulation(terminal: Terminal): () => void {
  let line = '';
  terminal.write(`This shell is simulated: nothing runs. Type help.\r\n${PROMPT}`);
  const subscription = terminal.onData((keys) => {
    for (const key of keys) {
      if (key === '\r') {
        terminal.write(`\r\n${answer(line)}${PROMPT}`);
        line = '';
      } else if (key === '\x7f') {
        if (line !== '') terminal.write('\b \b');
        line = line.slice(0, -1);
      } else if (key === '\x03') {
        terminal.write(`^C\r\n${PROMPT}`);
        line = '';
      } else if (key >= ' ') {
        line += key;
        terminal.write(key);
      }
    }
  });
  return () => subscription.dispose();
}

function answer(line: string): string {
  const [name = '', ...rest] = line.trim().split(/\s+/);
  if (name === '') return '';
  const found = ANSWERS[name];
  const text = found === undefined ? `${name}: is not simulated` : found(rest.join(' '));
  return name === 'clear' ? text : `${text}\r\n`;
}
