// Tests of the keys of terminals.

import { expect, it } from 'vitest';
import { actionOf, rowKey, withModifiers } from './keys';
import type { KeyPress } from './keys';

function press(keys: string): KeyPress {
  const parts = keys.split('+');
  const name = parts.at(-1) ?? '';
  const key = name === 'Plus' ? '+' : name;
  return {
    key,
    code: /^[A-Z]$/.test(key) ? `Key${key}` : key,
    ctrlKey: parts.includes('Ctrl'),
    shiftKey: parts.includes('Shift'),
    altKey: parts.includes('Alt'),
    metaKey: parts.includes('Cmd'),
  };
}

it('keeps the keys that terminals leave free', () => {
  const pressed = [
    'Ctrl+Shift+C',
    'Ctrl+Shift+V',
    'Ctrl+Shift+F',
    'Ctrl+-',
    'Ctrl+Plus',
    'Ctrl+0',
    'Ctrl+Shift+ArrowUp',
  ];
  expect(pressed.map((keys) => actionOf(press(keys), false))).toEqual([
    'copy',
    'paste',
    'search',
    'smaller',
    'larger',
    'reset-size',
    'previous-command',
  ]);
  for (const keys of ['Ctrl+C', 'Ctrl+V', 'Ctrl+Shift+_', 'Ctrl+Alt+C', 'Tab', 'Escape', 'Ctrl+R', 'Alt+0', 'F6']) {
    expect(actionOf(press(keys), false), keys).toBeUndefined();
  }
  expect(actionOf(press('Cmd+C'), true)).toBe('copy');
  expect(actionOf(press('Ctrl+Shift+C'), true)).toBeUndefined();
});

it('sends the keys of the row as a keyboard would', () => {
  const none = { ctrl: false, alt: false };
  expect(rowKey('up', none, false)).toBe('\x1b[A');
  expect(rowKey('up', none, true)).toBe('\x1bOA');
  expect(rowKey('left', { ctrl: true, alt: false }, true)).toBe('\x1b[1;5D');
  expect(rowKey('esc', none, false)).toBe('\x1b');
  expect(rowKey('|', { ctrl: false, alt: true }, false)).toBe('\x1b|');
  expect(withModifiers('c', { ctrl: true, alt: false })).toBe('\x03');
  expect(withModifiers('C', { ctrl: true, alt: true })).toBe('\x1b\x03');
  expect(withModifiers('[', { ctrl: true, alt: false })).toBe('\x1b');
  expect(withModifiers('é', { ctrl: true, alt: false })).toBe('é');
  expect(withModifiers('pasted', { ctrl: true, alt: true })).toBe('pasted');
});
