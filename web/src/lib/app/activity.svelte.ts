// What runs and what ran last, for the start page, the palette and the icon of the tab.
import type { Execution, Session } from 'headwater';
import { auth } from './auth.svelte';
import { client } from './client';
import { isShell } from './commandText';
import { connection } from './connection.svelte';

// More than are shown: shells of terminals are left out.
const RECENT = 30;

class Activity {
  running = $state.raw<Execution[]>([]);
  recent = $state.raw<Execution[]>([]);
  sessions = $state.raw<Session[]>([]);
  isLoaded = $state(false);
  error = $state.raw<unknown>(null);
  /** Executions that pages of this tab are following; more exact than the list. */
  #followed = $state.raw<ReadonlySet<string>>(new Set());
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isActive = false;
  #watchers = 0;

  readonly isRunning = $derived(this.running.length > 0 || this.#followed.size > 0);

  /** Marks an execution as running in this tab. Returns a function that ends it. */
  follow(id: string): () => void {
    this.#followed = new Set(this.#followed).add(id);
    return () => {
      const rest = new Set(this.#followed);
      rest.delete(id);
      this.#followed = rest;
      this.refreshSoon();
    };
  }

  /** Loads the lists now. */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const [running, recent, sessions] = await Promise.all([
        client.executions.list({ state: 'running', limit: 50 }),
        client.executions.list({ limit: RECENT }),
        client.sessions.list({ limit: 50 }),
      ]);
      this.running = running.items.filter((execution) => !isShell(execution));
      this.recent = recent.items.filter((execution) => !isShell(execution));
      this.sessions = sessions.items.filter((session) => !session.one_shot && session.state !== 'ended');
      this.error = null;
      this.isLoaded = true;
    } catch (error) {
      this.error = error;
    }
    this.#schedule();
  }

  refreshSoon(): void {
    if (!this.#isActive) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), 300);
  }

  /** A page that shows the lists asks for more frequent updates while it is open. */
  watch(): () => void {
    this.#watchers += 1;
    void this.refresh();
    return () => {
      this.#watchers -= 1;
    };
  }

  start(): () => void {
    this.#isActive = true;
    const shown = (): void => {
      if (document.visibilityState === 'visible') this.refreshSoon();
    };
    document.addEventListener('visibilitychange', shown);
    const restored = connection.onRestored(() => this.refreshSoon());
    this.refreshSoon();
    return () => {
      restored();
      this.#isActive = false;
      clearTimeout(this.#timer);
      document.removeEventListener('visibilitychange', shown);
    };
  }

  #schedule(): void {
    if (!this.#isActive || auth.state !== 'in') return;
    clearTimeout(this.#timer);
    const wait = this.#watchers > 0 ? 3000 : 20_000;
    this.#timer = setTimeout(() => {
      if (document.visibilityState === 'visible') void this.refresh();
      else this.#schedule();
    }, wait);
  }
}

export const activity = new Activity();
