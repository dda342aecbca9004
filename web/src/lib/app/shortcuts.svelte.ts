// Keyboard shortcuts: pages register theirs while they are shown; the shell registers those of every page.
import { preferences } from './preferences.svelte';

export interface Shortcut {
  /** `Mod+K`, `Mod+Shift+F`, `?`, or two keys in a row: `G H`. `Mod` is Ctrl, or Cmd on a Mac. */
  keys: string;
  run: (event: KeyboardEvent) => void;
  /** Whether it also works while the focus is in a field. Shortcuts with Mod do, unless this is false. */
  inFields?: boolean;
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const registered = new Set<Shortcut>();
const SEQUENCE_MS = 1000;
let pending: { key: string; at: number } | null = null;

/** The keys as people read them: `Ctrl+K`, `⌘K`, `G then H`. */
export function showKeys(keys: string, then: string): string {
  const one = (combo: string): string =>
    isMac
      ? combo.replace('Mod+', '⌘').replace('Shift+', '⇧').replace('Alt+', '⌥').replace('Enter', '↵')
      : combo.replace('Mod', 'Ctrl');
  return keys.split(' ').map(one).join(` ${then} `);
}

/** Registers shortcuts. Returns a function that removes them; use it as the result of `$effect`. */
export function registerShortcuts(shortcuts: Shortcut[]): () => void {
  for (const shortcut of shortcuts) registered.add(shortcut);
  return () => {
    for (const shortcut of shortcuts) registered.delete(shortcut);
  };
}

/** `Mod+Shift+F` for an event. */
export function comboOf(event: KeyboardEvent, mac = isMac): string {
  const mod = mac ? event.metaKey : event.ctrlKey;
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const isPrintable = event.key.length === 1 && event.key.toLowerCase() === event.key.toUpperCase();
  const shift = event.shiftKey && !isPrintable ? 'Shift+' : '';
  return `${mod ? 'Mod+' : ''}${event.altKey ? 'Alt+' : ''}${shift}${key}`;
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function onKeydown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const combo = comboOf(event);
  const hasModifier = combo.startsWith('Mod+') || combo.startsWith('Alt+') || /^F\d+$/.test(combo);
  const inField = isField(event.target);
  const inDialog = document.querySelector('dialog[open]') !== null;
  const sequence = pending && Date.now() - pending.at < SEQUENCE_MS ? `${pending.key} ${combo}` : null;
  pending = null;
  let isPrefix = false;
  // The last one registered wins: a page overrides the shell.
  for (const shortcut of [...registered].reverse()) {
    if (!hasModifier && (!preferences.singleKeys || inDialog)) continue;
    if (inField && !(shortcut.inFields ?? hasModifier)) continue;
    if (shortcut.keys === combo || shortcut.keys === sequence) {
      event.preventDefault();
      shortcut.run(event);
      return;
    }
    if (shortcut.keys.startsWith(`${combo} `)) isPrefix = true;
  }
  if (isPrefix) pending = { key: combo, at: Date.now() };
}

/** Starts to listen. Returns a function that stops. */
export function startShortcuts(): () => void {
  addEventListener('keydown', onKeydown);
  return () => removeEventListener('keydown', onKeydown);
}
