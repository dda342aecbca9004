// The colours of terminals: those of the page (styles/theme.css), in both themes, also when the theme changes.

import type { ITheme } from '@xterm/xterm';

const ANSI = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
  'brightBlack',
  'brightRed',
  'brightGreen',
  'brightYellow',
  'brightBlue',
  'brightMagenta',
  'brightCyan',
  'brightWhite',
] as const;

/** The colours that are in force at an element. */
export function themeAt(element: Element): ITheme {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const theme: ITheme = {
    background: colour('--bg-inset'),
    foreground: colour('--text'),
    cursor: colour('--accent'),
    cursorAccent: colour('--bg-inset'),
    selectionBackground: colour('--selection'),
    scrollbarSliderBackground: translucent(colour('--text-faint'), '40'),
    scrollbarSliderHoverBackground: translucent(colour('--text-faint'), '70'),
    scrollbarSliderActiveBackground: translucent(colour('--text-faint'), 'a0'),
    overviewRulerBorder: 'transparent',
  };
  ANSI.forEach((name, index) => (theme[name] = colour(`--ansi-${String(index)}`)));
  return theme;
}

function translucent(colour: string, alpha: string): string {
  return /^#[0-9a-f]{6}$/i.test(colour) ? `${colour}${alpha}` : colour;
}

/** A colour of the theme as the decorations of the search need it. */
export function colourAt(element: Element, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** The monospace font of the page. */
export function fontAt(element: Element): string {
  return getComputedStyle(element).getPropertyValue('--font-mono').trim() || 'monospace';
}

/** Calls `changed` when the page changes its theme. Returns a function that stops it. */
export function watchTheme(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ['class', 'data-theme', 'style'] });
  return () => observer.disconnect();
}
