// The state of the git repository of a workspace, if it is one: read by `git status` in the session, seldom.
import { isTransient, type Headwater } from 'headwater';
import { parseStatus, type GitStatus } from './git';

/** How long after a change it is read, and how often at most. */
const DELAY_MS = 1200;
const INTERVAL_MS = 5000;

export class Repository {
  status: GitStatus | null = $state.raw(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastAt = 0;
  #isReading = false;
  /** Whether something changed while it was read. */
  #isStale = false;
  /** git is missing, or this user may not start programs: there is no sense in trying again. */
  #isUnusable = false;
  #isClosed = false;

  constructor(
    private readonly client: Headwater,
    private readonly session: string,
    private readonly hasRepository: () => boolean,
  ) {}

  /** Reads the state soon. A workspace without `.git` costs nothing. */
  touch(): void {
    if (this.#isUnusable || this.#isClosed || this.#timer !== undefined) return;
    if (this.#isReading) {
      this.#isStale = true;
      return;
    }
    const wait = Math.max(DELAY_MS, this.#lastAt + INTERVAL_MS - Date.now());
    this.#timer = setTimeout(() => void this.#read(), wait);
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    // Only now: after `git init` the tree needs a moment to know the new folder.
    if (!this.hasRepository()) {
      this.status = null;
      return;
    }
    this.#lastAt = Date.now();
    this.#isReading = true;
    try {
      const result = await this.client.run(
        {
          // `--no-optional-locks`: does not write to the index, which would look like a change again.
          argv: ['git', '--no-optional-locks', '-c', 'safe.directory=*', 'status', '--porcelain=v1', '--branch', '-z'],
          timeout_ms: 10_000,
          metadata: { source: 'ide', purpose: 'git' },
        },
        { session: this.session },
      );
      this.#isUnusable = result.reason === 'setup_failed';
      this.status = result.ok ? parseStatus(result.stdout) : null;
      // It is not something that the user ran.
      await this.client.executions.remove(result.id).catch(() => undefined);
    } catch (error) {
      // While the server restarts nothing is known; the state that was read last stays.
      if (isTransient(error)) this.#isStale = true;
      else this.#isUnusable = true;
    }
    this.#isReading = false;
    const isStale = this.#isStale;
    this.#isStale = false;
    if (isStale) this.touch();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
