// One terminal on the page: the emulator, its connection, and what the components around it show.

import type { IMarker } from '@xterm/xterm';
import type { EventFrame } from 'headwater';
import { client } from '$lib/app/client';
import { connection as app } from '$lib/app/connection.svelte';
import { socketAddress, type Size } from './address';
import { Commands, outputOf } from './commands';
import type { ShellCommand } from './commands';
import { Connection } from './connection';
import type { ConnectionState } from './connection';
import { Gutter } from './gutter';
import { withModifiers } from './keys';
import type { Modifiers } from './keys';
import { preferences } from './preferences.svelte';
import { explainRefusal } from './refusal';
import { fontAt, themeAt, watchTheme } from './theme';
import { cleanPaste, cleanTitle } from './untrusted';
import type { Emulator } from './xterm';

export interface ViewOptions {
  session: string;
  name: string;
  readOnly: boolean;
}

export class TerminalView {
  state = $state.raw<ConnectionState>({ kind: 'connecting' });
  title = $state('');
  /** The size of the terminal, if it is not that of this window. */
  foreignSize = $state.raw<Size | undefined>();
  /** Whether nothing was typed into this shell yet, so that the welcome text is of use. */
  isFresh = $state(false);
  simulated = $state(false);
  modifiers = $state<Modifiers>({ ctrl: false, alt: false });

  readonly session: string;
  readonly name: string;
  readonly #emulator: Emulator;
  readonly #element: HTMLElement;
  readonly #connection: Connection;
  readonly #commands: Commands;
  readonly #gutter: Gutter;
  readonly #stops: (() => void)[] = [];
  #window: Size;

  constructor(element: HTMLElement, emulator: Emulator, options: ViewOptions) {
    ({ session: this.session, name: this.name } = options);
    this.#emulator = emulator;
    this.#element = element;
    const { terminal } = emulator;
    this.#gutter = new Gutter(terminal, (command) => this.outputOf(command));
    this.#commands = new Commands(
      () => {
        const place: IMarker | undefined = terminal.registerMarker(0);
        return place && { place, column: terminal.buffer.active.cursorX };
      },
      (command) => this.#gutter.show(command),
    );
    this.#window = this.#proposed() ?? { rows: terminal.rows, cols: terminal.cols };
    terminal.resize(this.#window.cols, this.#window.rows);
    this.#connection = new Connection({
      address: (size, resume) => {
        const base = new URL(client.url('/'), location.href).href;
        return socketAddress({ ...options, base, size, resume });
      },
      explain: () => explainRefusal(options, this.#window),
      size: this.#window,
      isOnline: () => navigator.onLine,
      sink: {
        write: (bytes, from, done) => {
          terminal.write(bytes, () => {
            this.#commands.drawn(from);
            done();
          });
        },
        clear: () => this.#clear(),
        event: (event) => this.#event(event),
        state: (state) => (this.state = state),
      },
    });
    this.#listen();
  }

  get terminal(): Emulator['terminal'] {
    return this.#emulator.terminal;
  }

  get search(): Emulator['search'] {
    return this.#emulator.search;
  }

  get executionId(): string | undefined {
    return this.#connection.executionId;
  }

  get commands(): Commands {
    return this.#commands;
  }

  /** The element that the colours of the search are read from. */
  get element(): HTMLElement {
    return this.#element;
  }

  connect(): void {
    this.simulated = false;
    this.terminal.options.disableStdin = false;
    this.#connection.connect();
  }

  /** Sends keys that did not come from the emulator. */
  type(keys: string): void {
    this.isFresh = false;
    this.terminal.scrollToBottom();
    this.terminal.input(keys);
  }

  paste(text: string): void {
    if (text !== '') this.terminal.paste(cleanPaste(text));
  }

  focus(): void {
    this.terminal.focus();
  }

  /** Whether the screen is also kept as text for screen readers, which costs time with much output. */
  get forScreenReaders(): boolean {
    return this.terminal.options.screenReaderMode === true;
  }

  set forScreenReaders(isOn: boolean) {
    this.terminal.options.screenReaderMode = isOn;
  }

  /** Fits the emulator to its element, and tells the server. */
  fit(): void {
    const size = this.#proposed();
    if (size === undefined) return;
    this.#window = size;
    this.#connection.resize(size);
    // Without a connection nobody else sets the size.
    if (this.simulated) this.terminal.resize(size.cols, size.rows);
    this.#compare();
  }

  /** Scrolls to the prompt above or below the view. */
  jump(direction: 'up' | 'down'): void {
    const { active } = this.terminal.buffer;
    const from =
      direction === 'up' && active.viewportY === active.baseY ? active.baseY + active.cursorY : active.viewportY;
    const command = this.#commands.jump(this.#gutter.focusedLine ?? from, direction);
    this.#gutter.focus(command);
    if (command === undefined) this.terminal.scrollToBottom();
    else this.terminal.scrollToLine(command.prompt.line);
  }

  outputOf(command: ShellCommand): string {
    const { active } = this.terminal.buffer;
    return outputOf(command, (at) => active.getLine(at), active.baseY + active.cursorY);
  }

  /** The development build's stand-in for a server. */
  async simulate(): Promise<void> {
    if (!import.meta.env.DEV) return;
    const { startSimulation } = await import('./simulated');
    this.#connection.close();
    this.simulated = true;
    this.#clear();
    this.fit();
    this.#stops.push(startSimulation(this.terminal));
  }

  dispose(): void {
    for (const stop of this.#stops) stop();
    this.#connection.close();
    this.#gutter.dispose();
    this.terminal.dispose();
  }

  #listen(): void {
    const { terminal } = this;
    const { parser } = terminal;
    const subscriptions = [
      terminal.onData((keys) => {
        if (this.simulated) return;
        const { ctrl, alt } = this.modifiers;
        const typed = ctrl || alt ? withModifiers(keys, { ctrl, alt }) : keys;
        this.modifiers = { ctrl: false, alt: false };
        // What the emulator answers to a program begins with an escape.
        if (!keys.startsWith('\x1b')) this.isFresh = false;
        if (this.#connection.send(typed)) this.#gutter.focus(undefined);
      }),
      terminal.onBinary((keys) => {
        this.#connection.send(Uint8Array.from(keys, (key) => key.charCodeAt(0)));
      }),
      terminal.onTitleChange((title) => (this.title = cleanTitle(title))),
      parser.registerOscHandler(133, (content) => {
        this.#commands.mark(content);
        return true;
      }),
      // The shell's other marks carry what the server reports as events.
      parser.registerOscHandler(633, () => true),
      parser.registerOscHandler(7, () => true),
    ];
    const restored = app.onRestored(() => {
      if (this.state.kind === 'reconnecting') this.connect();
    });
    this.#stops.push(
      () => subscriptions.forEach((subscription) => subscription.dispose()),
      restored,
      watchTheme(() => {
        this.terminal.options.theme = themeAt(this.#element);
        this.terminal.options.fontFamily = fontAt(this.#element);
      }),
      $effect.root(() => {
        $effect(() => {
          this.terminal.options.fontSize = preferences.fontSize;
          this.fit();
        });
      }),
    );
  }

  #event(event: EventFrame): void {
    // After the output that came before it is drawn.
    this.terminal.write('', () => {
      switch (event.type) {
        case 'attached':
        case 'resized':
          this.#resize(event);
          break;
        case 'snapshot':
          this.#commands.clear();
          this.#resize(event);
          this.title = cleanTitle(event.title);
          this.isFresh = false;
          break;
        case 'prompt':
          if (this.#commands.list.length === 0 && this.terminal.buffer.active.length <= this.terminal.rows) {
            this.isFresh ||= this.terminal.buffer.active.cursorY <= 1;
          }
          break;
        default:
          break;
      }
      this.#commands.take(event);
    });
  }

  #resize(size: Size): void {
    this.terminal.resize(size.cols, size.rows);
    this.#compare();
  }

  #compare(): void {
    const { rows, cols } = this.terminal;
    const isOurs = rows === this.#window.rows && cols === this.#window.cols;
    this.foreignSize = isOurs || this.state.kind !== 'connected' ? undefined : { rows, cols };
  }

  #proposed(): Size | undefined {
    const size = this.#emulator.fit.proposeDimensions();
    if (size === undefined || !Number.isFinite(size.rows) || !Number.isFinite(size.cols)) return undefined;
    return { rows: Math.max(2, size.rows), cols: Math.max(10, size.cols) };
  }

  #clear(): void {
    this.#commands.clear();
    this.terminal.reset();
    this.title = '';
  }
}
