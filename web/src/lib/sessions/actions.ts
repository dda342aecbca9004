// What can be done with a session from the list, beyond dialogs.

import type { Session } from 'headwater';
import { client } from '$lib/app/client';
import { removeWithUndo } from '$lib/lists/gone.svelte';
import { strings } from '$lib/strings/en';
import { toast } from '$lib/ui';
import { nameOf } from './names';

/** Ends a session after the time for "Undo". */
export function endSession(session: Session, onsent: () => void): void {
  const words = strings.sessions;
  const name = nameOf(session);
  removeWithUndo({
    id: session.id,
    message: words.ended(name),
    failed: words.endFailed(name),
    send: () => client.sessions.end(session.id),
    path: client.url(`/v1/sessions/${session.id}`),
    onsent,
  });
}

/** Hibernates a session. Shows the new state at once, and the old one again if the server refuses. */
export async function hibernateSession(session: Session, put: (session: Session) => void): Promise<void> {
  put({ ...session, state: 'hibernated', running: 0 });
  try {
    put(await client.sessions.hibernate(session.id));
  } catch (error) {
    put(session);
    toast.error(error);
  }
}
