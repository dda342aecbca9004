// The table of routes: which path is which page. Pages are files of `src/routes`, loaded when they are first shown.

export interface Route {
  /** The file in `src/routes`, without its suffix. */
  page: string;
  pattern: string;
  /** Whether people who are not signed in may open it. */
  isPublic?: boolean;
  /** Whether the page fills the window and scrolls its own parts. */
  isFull?: boolean;
}

export interface Match {
  route: Route | null;
  params: Record<string, string>;
}

export const routes: readonly Route[] = [
  { page: 'Home', pattern: '/' },
  { page: 'Sessions', pattern: '/sessions' },
  { page: 'Ide', pattern: '/sessions/:session', isFull: true },
  { page: 'Terminal', pattern: '/sessions/:session/terminals/:name', isFull: true },
  { page: 'Terminal', pattern: '/terminal/:session', isFull: true },
  { page: 'Replay', pattern: '/executions/:id/replay', isFull: true },
  { page: 'Execution', pattern: '/executions/:id', isPublic: true, isFull: true },
  { page: 'Chat', pattern: '/chat/:id?', isFull: true },
  { page: 'History', pattern: '/history' },
  { page: 'Admin', pattern: '/admin/:tab?' },
  { page: 'Settings', pattern: '/settings/:tab?' },
  { page: 'SignIn', pattern: '/signin', isPublic: true },
];

/** Decodes one segment; a segment that is no valid UTF-8 stays as it is. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function matchPattern(pattern: string, path: string): Record<string, string> | null {
  const want = pattern.split('/').filter(Boolean);
  const have = path.split('/').filter(Boolean);
  if (have.length > want.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of want.entries()) {
    const segment = have[index];
    if (!part.startsWith(':')) {
      if (segment !== part) return null;
      continue;
    }
    const isOptional = part.endsWith('?');
    if (segment === undefined) {
      if (isOptional) continue;
      return null;
    }
    params[part.slice(1, isOptional ? -1 : undefined)] = decode(segment);
  }
  return params;
}

/** The route of a path, or `route: null` if there is none. */
export function matchRoute(path: string): Match {
  for (const route of routes) {
    const params = matchPattern(route.pattern, path);
    if (params) return { route, params };
  }
  return { route: null, params: {} };
}
