// The router: what the address means, navigation, and clicks on links of the same origin.
import { matchRoute, type Match } from './routes';

export interface NavigateOptions {
  /** Replace the current entry of the browser's history instead of adding one. */
  replace?: boolean;
  /** Leave the scroll position as it is. */
  keepScroll?: boolean;
}

class Router {
  /** The path, decoded by nobody: as in the address bar. */
  path = $state(location.pathname);
  /** The query. Replaced on every navigation, so reading it is reactive. */
  query = $state.raw(new URLSearchParams(location.search));
  /** The fragment with its `#`, or ''. */
  hash = $state(location.hash);
  readonly match: Match = $derived(matchRoute(this.path));
  /** The decoded parameters of the route, e.g. `session` of `/sessions/:session`. */
  readonly params: Record<string, string> = $derived(this.match.params);

  /** Takes over what the address bar says. */
  sync(): void {
    if (this.path !== location.pathname) this.path = location.pathname;
    if (this.query.toString() !== new URLSearchParams(location.search).toString()) {
      this.query = new URLSearchParams(location.search);
    }
    this.hash = location.hash;
  }
}

export const router = new Router();

const guards = new Set<() => boolean>();

/** Asks before the app leaves a page: `guard` returns whether it may. Returns a function that removes it. */
export function beforeLeave(guard: () => boolean): () => void {
  guards.add(guard);
  return () => guards.delete(guard);
}

/** Goes to a path of this app, with an optional query and fragment. */
export function navigate(to: string, options: NavigateOptions = {}): void {
  const url = new URL(to, location.href);
  if (url.origin !== location.origin) {
    location.assign(url);
    return;
  }
  const leaves = url.pathname !== location.pathname;
  if (leaves && ![...guards].every((guard) => guard())) return;
  if (options.replace || url.href === location.href) history.replaceState(history.state, '', url);
  else history.pushState(null, '', url);
  router.sync();
  if (leaves && !options.keepScroll) scrollTo(0, 0);
}

/** Changes some parameters of the query and keeps the rest. `null` and '' remove a parameter. */
export function setQuery(changes: Record<string, string | null>, options: NavigateOptions = { replace: true }): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  navigate(`${location.pathname}${text ? `?${text}` : ''}${location.hash}`, { keepScroll: true, ...options });
}

/** Paths of this origin that the server answers itself. */
const SERVED = /^\/(v1|api|login|docs|openapi\.json|oauth|metrics|mcp)(\/|$)/;

function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link?.href || link.target === '_blank' || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || SERVED.test(url.pathname)) return;
  event.preventDefault();
  navigate(url.href);
}

/** Starts to listen. Returns a function that stops. */
export function startRouter(): () => void {
  const sync = (): void => router.sync();
  addEventListener('popstate', sync);
  addEventListener('hashchange', sync);
  document.addEventListener('click', onClick);
  return () => {
    removeEventListener('popstate', sync);
    removeEventListener('hashchange', sync);
    document.removeEventListener('click', onClick);
  };
}
