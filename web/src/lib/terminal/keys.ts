// Keys: those that the terminal keeps for itself, and the row of keys on phones.

/** What a key does in a terminal, besides reaching the program. */
export type TerminalAction =
  'copy' | 'paste' | 'search' | 'larger' | 'smaller' | 'reset-size' | 'previous-command' | 'next-command' | 'leave';

export type KeyPress = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'shiftKey' | 'altKey' | 'metaKey'>;

/** The action of a key, or undefined if it goes to the program. On a Mac, Cmd takes the place of Ctrl+Shift. */
export function actionOf(press: KeyPress, isMac: boolean): TerminalAction | undefined {
  const { key, code, ctrlKey, shiftKey, altKey, metaKey } = press;
  if (altKey) return undefined;
  if (isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey) {
    if (key === '0' && !shiftKey) return 'reset-size';
    if (key === '-' && !shiftKey) return 'smaller';
    if (key === '=' || key === '+') return 'larger';
  }
  const isChosen = isMac ? metaKey && !ctrlKey : ctrlKey && shiftKey && !metaKey;
  if (!isChosen) return ctrlKey && key === 'F6' ? 'leave' : undefined;
  switch (code) {
    case 'KeyC':
      return 'copy';
    case 'KeyV':
      return 'paste';
    case 'KeyF':
      return 'search';
    case 'ArrowUp':
      return 'previous-command';
    case 'ArrowDown':
      return 'next-command';
    default:
      return undefined;
  }
}

/** Keys that belong to the page even while a terminal has the focus. */
export function isForPage(press: KeyPress): boolean {
  return press.ctrlKey && !press.altKey && !press.metaKey && press.code === 'Backquote';
}

/** A modifier of the row of keys: pressed for the next key. */
export interface Modifiers {
  ctrl: boolean;
  alt: boolean;
}

/** What the keys of the row send. */
export type RowKey = 'esc' | 'tab' | 'up' | 'down' | 'left' | 'right' | '|' | '~' | '/' | '-';

const FINAL: Partial<Record<RowKey, string>> = { up: 'A', down: 'B', right: 'C', left: 'D' };

/** The bytes of a key of the row. `application`: the program asked for application cursor keys. */
export function rowKey(key: RowKey, modifiers: Modifiers, application: boolean): string {
  const final = FINAL[key];
  if (final !== undefined) {
    const code = 1 + (modifiers.alt ? 2 : 0) + (modifiers.ctrl ? 4 : 0);
    if (code > 1) return `\x1b[1;${String(code)}${final}`;
    return application ? `\x1bO${final}` : `\x1b[${final}`;
  }
  const plain = key === 'esc' ? '\x1b' : key === 'tab' ? '\t' : key;
  return withModifiers(plain, modifiers);
}

/** Typed text with the modifiers of the row: they apply to a single character. */
export function withModifiers(text: string, modifiers: Modifiers): string {
  if (Array.from(text).length !== 1) return text;
  const typed = modifiers.ctrl ? controlOf(text) : text;
  return modifiers.alt ? `\x1b${typed}` : typed;
}

/** The control character of a key, if it has one. */
function controlOf(key: string): string {
  const code = key.toUpperCase().charCodeAt(0);
  if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f);
  if (key === ' ') return '\0';
  if (key === '/' || key === '-') return '\x1f';
  return key === '?' ? '\x7f' : key;
}
