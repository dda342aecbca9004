// The marks of commands at the left edge of a terminal: one for each prompt, with the state of its command. A click copies
// the output of the command.

import type { IDecoration, IMarker, Terminal } from '@xterm/xterm';
import { strings } from '$lib/strings/en';
import { copyText } from '$lib/ui/clipboard';
import { duration } from '$lib/ui/format';
import { toast } from '$lib/ui/toast';
import type { ShellCommand } from './commands';
import { cleanTitle } from './untrusted';

const words = strings.terminal.command;

export class Gutter {
  readonly #decorations = new Map<number, IDecoration>();
  #focused: ShellCommand | undefined;

  constructor(
    private readonly terminal: Terminal,
    private readonly outputOf: (command: ShellCommand) => string,
  ) {}

  /** The line of the prompt that the user jumped to. */
  get focusedLine(): number | undefined {
    const place = this.#focused?.prompt;
    return place === undefined || place.isDisposed ? undefined : place.line;
  }

  /** Shows a command, or its new state. */
  show(command: ShellCommand): void {
    const known = this.#decorations.get(command.id);
    if (known !== undefined) {
      if (known.element !== undefined) this.#draw(known.element, command);
      return;
    }
    const decoration = this.terminal.registerDecoration({
      marker: command.prompt as IMarker,
      x: 0,
      width: 1,
      layer: 'top',
    });
    if (decoration === undefined) return;
    this.#decorations.set(command.id, decoration);
    decoration.onRender((element) => this.#draw(element, command));
    decoration.onDispose(() => this.#decorations.delete(command.id));
  }

  /** Marks the command that the user jumped to. */
  focus(command: ShellCommand | undefined): void {
    const before = this.#focused;
    this.#focused = command;
    for (const one of [before, command]) {
      const element = one && this.#decorations.get(one.id)?.element;
      if (element) this.#draw(element, one);
    }
  }

  dispose(): void {
    for (const decoration of this.#decorations.values()) decoration.dispose();
    this.#decorations.clear();
  }

  #draw(element: HTMLElement, command: ShellCommand): void {
    const isFocused = this.#focused === command;
    element.className = `xterm-decoration command-mark command-${command.state}${isFocused ? ' command-focused' : ''}`;
    const text = command.text === undefined ? undefined : cleanTitle(command.text);
    const state = command.state === 'failed' ? words.failed(command.exitCode) : words[command.state];
    const { startedAt, endedAt } = command;
    const time = startedAt === undefined || endedAt === undefined ? '' : duration(endedAt - startedAt);
    element.title = words.title(text, state, time);
    const hasOutput = command.state !== 'prompt';
    element.setAttribute('role', hasOutput ? 'button' : 'img');
    element.setAttribute('aria-label', hasOutput ? words.button(text, state) : state);
    element.onmousedown = (event) => event.stopPropagation();
    element.onclick = hasOutput ? () => void this.copy(command) : null;
  }

  /** Copies the output of a command, and says so: nothing on the screen would. */
  async copy(command: ShellCommand): Promise<void> {
    const text = this.outputOf(command);
    if (text === '') {
      toast.info(words.noOutput);
      return;
    }
    try {
      await copyText(text);
      toast.success(words.copied);
    } catch (error) {
      toast.error(error);
    }
  }
}
