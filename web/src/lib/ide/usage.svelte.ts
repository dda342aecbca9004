// What the session uses now, for the status bar: asked every few seconds while somebody looks.
import type { Headwater, SessionUsage } from 'headwater';
import { pollWhileVisible } from '../lists/poll';

const EVERY_MS = 3000;

export class Meter {
  usage: SessionUsage | null = $state.raw(null);
  /** Share of one processor, from two readings; null before the second. */
  cpu: number | null = $state(null);
  #last: { at: number; cpuMs: number } | null = null;

  constructor(
    private readonly client: Headwater,
    private readonly session: string,
  ) {}

  /** Starts to ask. Returns a function that stops. */
  start(): () => void {
    return pollWhileVisible(EVERY_MS, () => this.#read());
  }

  async #read(): Promise<void> {
    try {
      const usage = await this.client.sessions.usage(this.session);
      const cpuMs = usage.used.cpu_ms ?? null;
      const at = performance.now();
      if (cpuMs !== null && this.#last !== null && at > this.#last.at && cpuMs >= this.#last.cpuMs) {
        this.cpu = (cpuMs - this.#last.cpuMs) / (at - this.#last.at);
      }
      this.#last = cpuMs === null ? null : { at, cpuMs };
      this.usage = usage;
    } catch {
      this.usage = null;
      this.#last = null;
      this.cpu = null;
    }
  }
}
