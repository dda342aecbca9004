// Tests of preferences, shortcuts and the waits of the connection.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { waitMs } from './connection.svelte';
import { preferences, sanitize } from './preferences.svelte';
import { comboOf, registerShortcuts, showKeys, startShortcuts } from './shortcuts.svelte';

test('preferences that are not valid become the default', () => {
  const broken = JSON.parse('{"theme":"pink","codeSize":999,"uiSize":3,"singleKeys":"x"}') as Parameters<
    typeof sanitize
  >[0];
  expect(sanitize(broken)).toMatchObject({ theme: 'system', codeSize: 13, uiSize: 'normal', singleKeys: true });
  expect(sanitize({ theme: 'dark', codeSize: 16 })).toMatchObject({ theme: 'dark', codeSize: 16 });
});

test('a choice is applied and kept', () => {
  preferences.set({ theme: 'dark', codeSize: 16 });
  expect(document.documentElement.dataset['theme']).toBe('dark');
  expect(document.documentElement.style.getPropertyValue('--code-size')).toBe('16px');
  expect(localStorage.getItem('headwater.preferences')).toContain('"dark"');
});

test('waits grow, stay below 20 s, and differ', () => {
  const waits = [0, 1, 2, 3, 4, 10].map((attempt) => waitMs(attempt, () => 0.5));
  expect(waits).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000]);
  expect(waitMs(20, () => 1)).toBeLessThan(20_000);
  expect(waitMs(0, () => 0)).not.toBe(waitMs(0, () => 1));
});

test('names of keys', () => {
  const press = (init: KeyboardEventInit): string => comboOf(new KeyboardEvent('keydown', init), false);
  expect(press({ key: 'k', ctrlKey: true })).toBe('Mod+K');
  expect(press({ key: 'F', ctrlKey: true, shiftKey: true })).toBe('Mod+Shift+F');
  expect(press({ key: '?', shiftKey: true })).toBe('?');
  expect(press({ key: 'Enter', ctrlKey: true })).toBe('Mod+Enter');
  expect(showKeys('G H', 'then')).toBe('G then H');
});

describe('shortcuts', () => {
  let stop: () => void;
  beforeEach(() => (stop = startShortcuts()));
  afterEach(() => {
    stop();
    document.body.replaceChildren();
    preferences.set({ singleKeys: true });
  });
  const press = (key: string, init: KeyboardEventInit = {}, target: EventTarget = document.body): void => {
    target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init }));
  };

  test('two keys in a row', () => {
    const run = vi.fn();
    const remove = registerShortcuts([{ keys: 'G S', run }]);
    press('g');
    press('x');
    press('s');
    expect(run).not.toHaveBeenCalled();
    press('g');
    press('s');
    expect(run).toHaveBeenCalledOnce();
    remove();
    press('g');
    press('s');
    expect(run).toHaveBeenCalledOnce();
  });

  test('letters do nothing in a field, Ctrl does', () => {
    const letter = vi.fn();
    const combo = vi.fn();
    const remove = registerShortcuts([
      { keys: '?', run: letter },
      { keys: 'Mod+K', run: combo },
    ]);
    const field = document.body.appendChild(document.createElement('input'));
    press('?', {}, field);
    press('k', { ctrlKey: true }, field);
    expect(letter).not.toHaveBeenCalled();
    expect(combo).toHaveBeenCalledOnce();
    preferences.set({ singleKeys: false });
    press('?');
    expect(letter).not.toHaveBeenCalled();
    remove();
  });

  test('a page overrides the shell', () => {
    const shell = vi.fn();
    const page = vi.fn();
    const removes = [
      registerShortcuts([{ keys: 'Mod+P', run: shell }]),
      registerShortcuts([{ keys: 'Mod+P', run: page }]),
    ];
    press('p', { ctrlKey: true });
    expect(page).toHaveBeenCalledOnce();
    expect(shell).not.toHaveBeenCalled();
    for (const remove of removes) remove();
  });
});
