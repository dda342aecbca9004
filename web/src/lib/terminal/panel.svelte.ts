// The terminals of a session as a panel shows them: what runs on the server, and how this browser arranges it.

import { ApiError } from 'headwater';
import { client } from '$lib/app/client';
import { loadJson, saveJson } from '$lib/app/storage';
import { strings } from '$lib/strings/en';
import { toast, undoToast } from '$lib/ui/toast';
import * as layouts from './layout';
import type { Layout, Tab } from './layout';

/** How long a closed terminal can be brought back before its shell ends. */
const UNDO_MS = 6000;

export class Panel {
  layout = $state.raw<Layout>(layouts.EMPTY);
  /** Titles that programs set, by terminal; cleaned. */
  titles = $state<Record<string, string>>({});
  isLoading = $state(true);
  error = $state.raw<unknown>();
  readonly session: string;
  readonly #closing = new Map<string, ReturnType<typeof setTimeout>>();

  constructor(session: string) {
    this.session = session;
    this.layout = loadJson(this.#key, layouts.isLayout) ?? layouts.EMPTY;
  }

  get active(): string | undefined {
    return this.layout.active;
  }

  /** Whether there is no such session, or none that this user may see. */
  get isMissing(): boolean {
    return this.error instanceof ApiError && this.error.status === 404;
  }

  get activeTab(): Tab | undefined {
    return layouts.tabOf(this.layout, this.layout.active);
  }

  labelOf(name: string): string {
    return this.layout.labels[name] ?? name;
  }

  /** Asks the server what runs. `wanted`: a terminal that is opened even if it does not run; without any, `main` is. */
  async load(wanted?: string): Promise<void> {
    try {
      const running = await this.#running();
      const layout = layouts.reconcile(this.layout, running);
      const name = wanted ?? (running.length === 0 ? 'main' : undefined);
      this.#set(name === undefined ? layout : layouts.add(layout, name));
      this.error = undefined;
    } catch (error) {
      this.error = error;
    }
    this.isLoading = false;
  }

  /** Takes up terminals that were opened elsewhere. Those that ended stay until they are closed here. */
  async refresh(): Promise<void> {
    if (this.isLoading || this.error !== undefined) return;
    const running = await this.#running().catch(() => undefined);
    if (running === undefined) return;
    const names = layouts.namesOf(this.layout);
    const more = running.filter((name) => !names.includes(name));
    if (more.length > 0) this.#set(layouts.reconcile(this.layout, [...names, ...more]));
  }

  select(name: string): void {
    if (name !== this.active) this.#set({ ...this.layout, active: name });
  }

  /** Opens a new terminal, as a tab or beside the active one. */
  open(direction?: Tab['direction']): void {
    const taken = [...layouts.namesOf(this.layout), ...this.#closing.keys()];
    const beside = this.active === undefined || direction === undefined ? undefined : { name: this.active, direction };
    this.#set(layouts.add(this.layout, layouts.freeName(taken), beside));
  }

  /** Opens or shows the terminal of this name. */
  show(name: string): void {
    this.#set(layouts.add(this.layout, name));
  }

  detach(name: string): void {
    this.#set(layouts.detach(this.layout, name));
  }

  rename(name: string, text: string): void {
    this.#set(layouts.label(this.layout, name, text));
  }

  /** Closes a terminal. Its shell ends a few seconds later, unless the user changes their mind. */
  close(name: string): void {
    const before = this.layout;
    this.#set(layouts.remove(this.layout, name));
    const timer = setTimeout(() => void this.#end(name), UNDO_MS);
    this.#closing.set(name, timer);
    const undo = (): void => {
      if (!this.#closing.has(name)) return;
      clearTimeout(timer);
      this.#closing.delete(name);
      this.#set(
        layouts.namesOf(this.layout).length === layouts.namesOf(before).length - 1
          ? before
          : layouts.add(this.layout, name),
      );
    };
    undoToast(strings.terminal.panel.closed(this.labelOf(name)), undo, UNDO_MS);
  }

  /** Removes a terminal whose shell has ended. */
  forget(name: string): void {
    this.#set(layouts.remove(this.layout, name));
  }

  get #key(): string {
    return `terminals.${this.session}`;
  }

  #set(layout: Layout): void {
    this.layout = layout;
    saveJson(this.#key, layout);
  }

  async #running(): Promise<string[]> {
    const { terminals } = await client.terminals.list(this.session);
    return terminals.filter((one) => one.running && !this.#closing.has(one.name)).map((one) => one.name);
  }

  async #end(name: string): Promise<void> {
    try {
      await client.request(
        'DELETE',
        `/v1/sessions/${encodeURIComponent(this.session)}/terminals/${encodeURIComponent(name)}`,
      );
    } catch (error) {
      toast.error(error);
    }
    this.#closing.delete(name);
  }
}
