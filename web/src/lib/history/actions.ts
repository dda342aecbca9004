// What can be done with an execution from the history.

import type { Execution } from 'headwater';
import { client } from '$lib/app/client';
import { removeWithUndo } from '$lib/lists/gone.svelte';
import { shareUrl } from '$lib/lists/shareUrl';
import { strings } from '$lib/strings/en';

/** How long a link for guests works. */
export const LINK_DAYS = 7;

/** Creates a read-only link that opens the execution without an account. */
export async function linkForGuests(execution: Execution): Promise<string> {
  const share = await client.sessions.share(execution.session_id, {
    access: 'read',
    expires_in_ms: LINK_DAYS * 86_400_000,
  });
  return shareUrl(`/executions/${execution.id}`, share.token ?? '');
}

/** Deletes an execution with its log, after the time for "Undo". */
export function removeExecution(execution: Execution, onsent: () => void): void {
  const words = strings.history;
  removeWithUndo({
    id: execution.id,
    message: words.removed,
    failed: words.removeFailed,
    send: () => client.executions.remove(execution.id),
    path: client.url(`/v1/executions/${execution.id}`),
    onsent,
  });
}
