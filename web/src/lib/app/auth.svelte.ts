// Who is signed in. The credential is a cookie that scripts cannot read; `/v1/me` says whom it belongs to.
import { ApiError, type Caller } from 'headwater';
import { parseFragment } from '../runs/fragment';
import { client, whenUnauthorized } from './client';

type AuthState = 'unknown' | 'in' | 'out';

class Auth {
  state = $state<AuthState>('unknown');
  me = $state.raw<Caller | null>(null);
  /** Whether a sign-in ended while the app was open. */
  hasEnded = $state(false);
  /** Whether a public page found that it needs a sign-in after all. */
  isNeeded = $state(false);
  /** What prevented finding out who is signed in. */
  error = $state.raw<unknown>(null);

  constructor() {
    whenUnauthorized(() => {
      if (this.state === 'in') this.hasEnded = true;
      this.state = 'out';
      this.me = null;
    });
  }

  get isAdmin(): boolean {
    return this.me?.role === 'admin' && !this.me.scopes && !this.me.sessions;
  }

  /** Whether this user may start programs and change things. */
  get canWrite(): boolean {
    return this.me !== null && this.me.role !== 'reader';
  }

  /** Asks the server who is signed in. */
  async load(): Promise<void> {
    this.error = null;
    try {
      this.me = await client.me();
      this.state = 'in';
      this.hasEnded = false;
      this.isNeeded = false;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) this.error = error;
      else if (!(await this.useLink())) this.state = 'out';
    }
  }

  /** Signs a guest in by the link to a session (`/sessions/ID#share=TOKEN`). Returns whether there was a valid one. */
  async useLink(): Promise<boolean> {
    const { share } = parseFragment(location.hash);
    if (!share || !location.pathname.startsWith('/sessions/')) return false;
    // The token must not stay in the address, nor be tried twice.
    history.replaceState(history.state, '', location.pathname + location.search);
    return this.signInWithToken(share).then(
      () => true,
      () => false,
    );
  }

  async signInWithPassword(name: string, password: string): Promise<void> {
    await client.signIn({ name, password, cookie: true });
    await this.load();
  }

  /** Exchanges an API token for the cookie of this browser. */
  async signInWithToken(token: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch('/login', { headers, redirect: 'manual', cache: 'no-store' });
    // The server answers with a redirect, which scripts cannot look into.
    if (!response.ok && response.type !== 'opaqueredirect') throw await ApiError.from(response);
    await this.load();
  }

  /** A public page calls this when its content needs a sign-in. */
  require(): void {
    this.isNeeded = true;
  }

  async signOut(everywhere = false): Promise<void> {
    try {
      await client.signOut(everywhere);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
    }
    this.me = null;
    this.state = 'out';
    this.hasEnded = false;
  }
}

export const auth = new Auth();
