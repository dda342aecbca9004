// Why a terminal cannot be opened. A browser does not say why a socket was refused, so the server is asked over HTTP.
import { ApiError } from 'headwater';
import { client } from '$lib/app/client';
import type { Size } from './address';
import type { Refusal } from './connection';

/** Why the socket of a terminal does not open; undefined if it may open later. */
export async function explainRefusal(
  { session, name }: { session: string; name: string },
  size: Size,
): Promise<{ reason: Refusal; message: string } | undefined> {
  try {
    const found = await client.sessions.get(session);
    if (found.state === 'ended') return { reason: 'session-ended', message: '' };
    // The session is fine. The socket would have created the terminal; this says why it could not.
    await client.terminals.create(session, { name, ...size });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.isTransient) return undefined;
    if (error.status === 401) return { reason: 'signed-out', message: error.message };
    if (error.status === 404) return { reason: 'missing', message: error.message };
    return { reason: 'failed', message: error.message };
  }
}
