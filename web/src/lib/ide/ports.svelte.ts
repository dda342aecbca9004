// The ports that programs of the session listen on: asked every few seconds while somebody looks.
import type { Headwater, Preview } from 'headwater';
import { pollWhileVisible } from '../lists/poll';
import { strings } from '../strings/en';
import { toast } from '../ui';
import { opened, type Reading } from './ports';

const EVERY_MS = 2000;
const TOAST_MS = 12_000;
const words = strings.ports;

export class Ports {
  /** The ports, ascending. */
  open: readonly number[] = $state.raw([]);
  /** The one that is shown. */
  preview: Preview | null = $state.raw(null);
  /** Called when a preview is to be seen. */
  onpreview: () => void = () => undefined;
  #reading: Reading = null;

  constructor(
    private readonly client: Headwater,
    private readonly session: string,
    private readonly canWrite: boolean,
  ) {}

  /** Starts to ask. Returns a function that stops. */
  start(): () => void {
    return pollWhileVisible(EVERY_MS, () => this.#read());
  }

  /** Shows a port in the IDE. */
  async show(port: number): Promise<void> {
    try {
      this.preview = await this.client.sessions.preview(this.session, port);
      this.onpreview();
    } catch (error) {
      toast.error(error);
    }
  }

  close(): void {
    this.preview = null;
  }

  async #read(): Promise<void> {
    let ports: number[];
    try {
      ports = (await this.client.sessions.ports(this.session)).items.map(({ port }) => port);
    } catch {
      return; // the session has ended, or the server is away: what is shown elsewhere says so
    }
    const added = opened(this.#reading, ports);
    this.#reading = ports;
    if (ports.join() !== this.open.join()) this.open = ports;
    if (!this.canWrite) return;
    for (const port of added) {
      const action = { label: words.preview, onclick: () => void this.show(port) };
      toast.info(words.opened(port), { action, duration: TOAST_MS });
    }
  }
}
