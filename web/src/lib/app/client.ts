// The one client of the app: the server of this page, with its cookie. It also watches how requests end.
import { Headwater } from 'headwater';
import { connection } from './connection.svelte';

type Listener = () => void;
let onUnauthorized: Listener = () => undefined;

/** Says who is told when the server does not accept the sign-in any more. */
export function whenUnauthorized(listener: Listener): void {
  onUnauthorized = listener;
}

async function watchedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(input, { cache: 'no-store', ...init });
  } catch (error) {
    if (!init?.signal?.aborted) connection.failed();
    throw error;
  }
  connection.succeeded();
  if (response.status === 401) onUnauthorized();
  return response;
}

export const client = new Headwater({ fetch: watchedFetch });
