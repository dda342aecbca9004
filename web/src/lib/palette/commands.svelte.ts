// The commands of the palette: those of the app, and those that the current page adds.
import { untrack } from 'svelte';
import type { Icon } from '../ui';

export interface Command {
  id: string;
  label: string;
  group: string;
  icon?: Icon;
  /** The keys that do the same, as in `registerShortcuts`. */
  keys?: string;
  /** Further words by which it can be found. */
  also?: string;
  /** Shown at the right, such as a state. */
  state?: string;
  run: () => void | Promise<void>;
}

let added = $state.raw<readonly Command[]>([]);

/** Adds commands while a page is shown. Returns a function that removes them; use it as the result of `$effect`. */
export function registerCommands(commands: Command[]): () => void {
  // The effect that registers them must not run again because they were added.
  added = [...untrack(() => added), ...commands];
  return () => {
    added = added.filter((command) => !commands.includes(command));
  };
}

export function pageCommands(): readonly Command[] {
  return added;
}
