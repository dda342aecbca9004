// How the terminals of a session are laid out: tabs, each with one terminal or several side by side. Pure functions; every
// change returns a new layout.

import { isTerminalName } from './address';

export interface Tab {
  /** The name of its first terminal when it was made; unique among the tabs. */
  id: string;
  direction: 'horizontal' | 'vertical';
  names: string[];
}

export interface Layout {
  tabs: Tab[];
  /** The name of the terminal that is used. */
  active: string | undefined;
  /** What the user calls terminals, by name. */
  labels: Record<string, string>;
}

export const EMPTY: Layout = { tabs: [], active: undefined, labels: {} };

/** The terminals of a layout, in order. */
export function namesOf(layout: Layout): string[] {
  return layout.tabs.flatMap((tab) => tab.names);
}

/** The tab that contains a terminal. */
export function tabOf(layout: Layout, name: string | undefined): Tab | undefined {
  return layout.tabs.find((tab) => name !== undefined && tab.names.includes(name));
}

/** A layout of exactly these terminals: what is gone is left out, what is new gets a tab of its own. */
export function reconcile(layout: Layout, running: readonly string[]): Layout {
  const known = new Set(running);
  const kept = layout.tabs
    .map((tab) => ({ ...tab, names: tab.names.filter((name) => known.delete(name)) }))
    .filter((tab) => tab.names.length > 0);
  const tabs = [...kept, ...[...known].map((name) => tab(name, kept))];
  return activate({ ...layout, tabs }, layout.active);
}

/** Adds a terminal as a new tab, or beside another one. */
export function add(layout: Layout, name: string, beside?: { name: string; direction: Tab['direction'] }): Layout {
  if (namesOf(layout).includes(name)) return { ...layout, active: name };
  const target = tabOf(layout, beside?.name);
  if (target === undefined || beside === undefined) {
    return { ...layout, tabs: [...layout.tabs, tab(name, layout.tabs)], active: name };
  }
  const names = target.names.flatMap((one) => (one === beside.name ? [one, name] : [one]));
  // A tab has one direction: that of its first split.
  const direction = target.names.length > 1 ? target.direction : beside.direction;
  return { ...replace(layout, target, { ...target, names, direction }), active: name };
}

/** Removes a terminal; its neighbour becomes the active one. */
export function remove(layout: Layout, name: string): Layout {
  const target = tabOf(layout, name);
  if (target === undefined) return layout;
  const all = namesOf(layout);
  const at = all.indexOf(name);
  const rest = target.names.filter((one) => one !== name);
  const neighbour =
    layout.active === name ? (target.names.length > 1 ? rest[0] : (all[at + 1] ?? all[at - 1])) : layout.active;
  const changed =
    rest.length > 0
      ? replace(layout, target, { ...target, names: rest })
      : { ...layout, tabs: layout.tabs.filter((tab) => tab !== target) };
  return activate(changed, neighbour);
}

/** Gives a terminal a tab of its own. */
export function detach(layout: Layout, name: string): Layout {
  const target = tabOf(layout, name);
  if (target === undefined || target.names.length < 2) return layout;
  const rest = { ...target, names: target.names.filter((one) => one !== name) };
  const changed = replace(layout, target, rest);
  return { ...changed, tabs: [...changed.tabs, tab(name, changed.tabs)], active: name };
}

/** Calls a terminal something else; an empty label is its name again. */
export function label(layout: Layout, name: string, text: string): Layout {
  const { [name]: _before, ...labels } = layout.labels;
  const trimmed = text.trim().slice(0, 40);
  return { ...layout, labels: trimmed === '' || trimmed === name ? labels : { ...labels, [name]: trimmed } };
}

/** A name that no terminal has: `main`, then `shell-2`, `shell-3`. */
export function freeName(taken: readonly string[]): string {
  if (!taken.includes('main')) return 'main';
  let number = 2;
  while (taken.includes(`shell-${String(number)}`)) number += 1;
  return `shell-${String(number)}`;
}

/** Whether a stored value is a layout. */
export function isLayout(value: unknown): value is Layout {
  if (typeof value !== 'object' || value === null) return false;
  const { tabs, active, labels } = value as Record<string, unknown>;
  return (
    Array.isArray(tabs) &&
    tabs.every(isTab) &&
    (active === undefined || typeof active === 'string') &&
    typeof labels === 'object' &&
    labels !== null &&
    Object.values(labels).every((one) => typeof one === 'string')
  );
}

function isTab(value: unknown): value is Tab {
  if (typeof value !== 'object' || value === null) return false;
  const { id, direction, names } = value as Record<string, unknown>;
  return (
    typeof id === 'string' &&
    (direction === 'horizontal' || direction === 'vertical') &&
    Array.isArray(names) &&
    names.every((name) => typeof name === 'string' && isTerminalName(name))
  );
}

function tab(name: string, others: readonly Tab[]): Tab {
  const ids = new Set(others.map((other) => other.id));
  let id = name;
  while (ids.has(id)) id += '+';
  return { id, direction: 'horizontal', names: [name] };
}

function replace(layout: Layout, before: Tab, after: Tab): Layout {
  return { ...layout, tabs: layout.tabs.map((tab) => (tab === before ? after : tab)) };
}

function activate(layout: Layout, name: string | undefined): Layout {
  const names = namesOf(layout);
  return { ...layout, active: name !== undefined && names.includes(name) ? name : names[0] };
}
