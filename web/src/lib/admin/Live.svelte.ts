// The live figures of the server: scraped every two seconds while somebody looks, kept for ten minutes.

import type { Headwater } from 'headwater';
import { Measurements, type Measured } from './metrics';
import { pushPoint } from './points';
import { parseMetrics, type Scrape } from './prometheus';

export const EVERY_MS = 2000;
/** Ten minutes. */
const CAPACITY = 300;

export class Live {
  points = $state.raw<readonly Measured[]>([]);
  scrape = $state.raw<Scrape>(new Map());
  error = $state.raw<unknown>(null);
  readonly #measurements = new Measurements();
  readonly #client: Headwater;

  constructor(client: Headwater) {
    this.#client = client;
  }

  async measure(signal: AbortSignal): Promise<void> {
    try {
      const response = await this.#client.raw('GET', '/metrics', { signal });
      this.scrape = parseMetrics(await response.text());
      this.points = pushPoint(this.points, this.#measurements.next(Date.now(), this.scrape), CAPACITY);
      this.error = null;
    } catch (error) {
      if (!signal.aborted) this.error = error;
    }
  }
}
