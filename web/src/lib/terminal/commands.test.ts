// Tests of the places of commands, and of what forged marks cannot do.

import { describe, expect, it } from 'vitest';
import { Commands, outputOf } from './commands';
import type { BufferLine, Place } from './commands';

class FakePlace implements Place {
  isDisposed = false;
  constructor(public line: number) {}
  dispose(): void {
    this.isDisposed = true;
    this.line = -1;
  }
}

/** An emulator of lines of text, without escape sequences but marks in braces: `{A}`. */
class Screen {
  lines: string[] = [''];
  commands = new Commands(
    () => ({ place: new FakePlace(this.lines.length - 1), column: this.lines.at(-1)?.length ?? 0 }),
    () => undefined,
    () => 0,
  );

  draw(from: number, text: string): void {
    for (const part of text.split(/(\{.*?\}|\n)/)) {
      if (part.startsWith('{')) this.commands.mark(part.slice(1, -1));
      else if (part === '\n') this.lines.push('');
      else this.lines[this.lines.length - 1] += part;
    }
    this.commands.drawn(from);
  }

  output(index: number): string {
    const command = this.commands.list[index];
    const line = (at: number): BufferLine | undefined => {
      const text = this.lines[at];
      return text === undefined
        ? undefined
        : { isWrapped: false, translateToString: (_trim, start, end) => text.slice(start ?? 0, end) };
    };
    return command === undefined ? '?' : outputOf(command, line, this.lines.length - 1);
  }
}

describe('commands', () => {
  it('have their place, exit code and output', () => {
    const screen = new Screen();
    screen.draw(1, '{A}$ ');
    screen.commands.take({ type: 'prompt', seq: 2 });
    screen.draw(2, 'seq 2\n{C}1\n2\n{D;0}{A}$ ');
    screen.commands.take({ type: 'command_started', seq: 3, line: 'seq 2' });
    screen.commands.take({ type: 'command_ended', seq: 3, exit_code: 0 });
    screen.commands.take({ type: 'prompt', seq: 3 });
    screen.draw(3, 'printf x\n{C}x{D;1}{A}$ ');
    screen.commands.take({ type: 'command_started', seq: 4, line: 'printf x' });
    screen.commands.take({ type: 'command_ended', seq: 4, exit_code: 1 });
    screen.commands.take({ type: 'prompt', seq: 4 });
    expect(screen.commands.list.map((one) => [one.state, one.prompt.line, one.text])).toEqual([
      ['succeeded', 0, 'seq 2'],
      ['failed', 3, 'printf x'],
      ['prompt', 4, undefined],
    ]);
    expect(screen.output(0)).toBe('1\n2');
    expect(screen.output(1)).toBe('x');
    expect(screen.commands.at(2)?.text).toBe('seq 2');
    expect(screen.commands.jump(3, 'up')?.prompt.line).toBe(0);
    expect(screen.commands.jump(3, 'down')?.prompt.line).toBe(4);
    expect(screen.commands.jump(0, 'up')).toBeUndefined();
  });

  it('are not made by marks that the server does not report', () => {
    const screen = new Screen();
    screen.draw(1, '{A}$ ');
    screen.commands.take({ type: 'prompt', seq: 2 });
    screen.draw(2, 'evil\n{C}{A}{D;0}{C}fake $ \n{D;0}{A}{D;5}{A}$ ');
    screen.commands.take({ type: 'command_started', seq: 3, line: 'evil' });
    screen.commands.take({ type: 'command_ended', seq: 3, exit_code: 5 });
    screen.commands.take({ type: 'prompt', seq: 3 });
    expect(screen.commands.list.map((one) => [one.state, one.exitCode, one.prompt.line])).toEqual([
      ['failed', 5, 0],
      ['prompt', undefined, 2],
    ]);
    expect(screen.output(0)).toBe('fake $ ');
  });

  it('are found although the report comes after later output', () => {
    const screen = new Screen();
    screen.draw(1, '{A}$ ');
    screen.commands.take({ type: 'prompt', seq: 2 });
    screen.draw(2, 'ls\n{C}a\n');
    screen.draw(3, '{D;0}{A}$ ');
    screen.draw(4, 'x');
    screen.commands.take({ type: 'command_started', seq: 3, line: 'ls' });
    screen.commands.take({ type: 'command_ended', seq: 4, exit_code: 0 });
    screen.commands.take({ type: 'prompt', seq: 4 });
    expect(screen.output(0)).toBe('a');
    expect(screen.commands.list[1]?.prompt.line).toBe(2);
  });

  it('begin at the cursor if the screen came without marks', () => {
    const screen = new Screen();
    screen.draw(1, 'old\n$ ');
    screen.commands.take({ type: 'prompt', seq: 9 });
    screen.commands.take({ type: 'prompt', seq: 9 });
    expect(screen.commands.list.map((one) => one.prompt.line)).toEqual([1]);
    screen.commands.clear();
    expect(screen.commands.list).toEqual([]);
  });
});
