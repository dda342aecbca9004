// xterm.js with its addons: the part of the terminal that is loaded only when a terminal is shown.

import { ClipboardAddon } from '@xterm/addon-clipboard';
import type { IClipboardProvider } from '@xterm/addon-clipboard';
import { FitAddon } from '@xterm/addon-fit';
import { SearchAddon } from '@xterm/addon-search';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { WebglAddon } from '@xterm/addon-webgl';
import { Terminal } from '@xterm/xterm';
import type { ITerminalOptions } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { copyText } from '$lib/ui/clipboard';
import type { Renderer } from './preferences.svelte';
import { fontAt, themeAt } from './theme';
import { openLink, safeLink } from './untrusted';

export interface Emulator {
  terminal: Terminal;
  fit: FitAddon;
  search: SearchAddon;
}

/** Programs may write the clipboard (OSC 52), but not read it: it may hold a password. */
const clipboard: IClipboardProvider = {
  readText: () => '',
  writeText: (_selection, text) => copyText(text).catch(() => undefined),
};

/** Creates an emulator in an element that is part of the page. */
export function createEmulator(element: HTMLElement, options: ITerminalOptions, renderer: Renderer): Emulator {
  const terminal = new Terminal({
    allowProposedApi: true,
    theme: themeAt(element),
    fontFamily: fontAt(element),
    lineHeight: 1.2,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    minimumContrastRatio: 4.5,
    scrollback: 10_000,
    macOptionIsMeta: true,
    rightClickSelectsWord: false,
    linkHandler: {
      activate: (_event, address) => openLink(address),
      allowNonHttpProtocols: false,
    },
    ...options,
  });
  const fit = new FitAddon();
  const search = new SearchAddon({ highlightLimit: 1000 });
  terminal.loadAddon(fit);
  terminal.loadAddon(search);
  // Widths as in the C library's wcwidth, which the shell and the server's emulator count with.
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = '11';
  terminal.loadAddon(
    new WebLinksAddon((_event, address) => {
      if (safeLink(address) !== undefined) openLink(address);
    }),
  );
  terminal.loadAddon(new ClipboardAddon(undefined, clipboard));
  terminal.open(element);
  if (renderer === 'auto') drawWithWebgl(terminal);
  return { terminal, fit, search };
}

/** WebGL draws faster; where it does not exist or is lost, the emulator draws with elements. */
function drawWithWebgl(terminal: Terminal): void {
  try {
    const webgl = new WebglAddon();
    webgl.onContextLoss(() => webgl.dispose());
    terminal.loadAddon(webgl);
  } catch {
    // The emulator has its own renderer.
  }
}
