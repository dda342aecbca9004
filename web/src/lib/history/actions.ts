// What can be done with an execution from the history.

import type { Execution, StartRequest } from 'headwater';
import { ApiError } from 'headwater';
import { client } from '$lib/app/client';
import { removeWithUndo } from '$lib/lists/gone.svelte';
import { shareUrl } from '$lib/lists/shareUrl';
import { strings } from '$lib/strings/en';

/** How long a link for guests works. */
export const LINK_DAYS = 7;

/** The request that runs the same command. Input, variables, working directory and limits are not kept by the server. */
export function requestLike(execution: Pick<Execution, 'command' | 'tty' | 'metadata'>): StartRequest {
  const { command, tty, metadata } = execution;
  const rest = {
    ...(tty ? { tty } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
  if ('shell' in command) return { shell: command.shell, ...rest };
  if ('argv' in command) return { argv: command.argv, ...rest };
  const { language, code, file, args } = command.code;
  return { language, code, ...(file ? { file } : {}), ...(args?.length ? { args } : {}), ...rest };
}

/** Runs the same command again: in its session, or in one of its own if the session has ended. */
export async function runAgain(id: string): Promise<Execution> {
  // Lists cut long commands; the execution itself has all of it.
  const whole = await client.executions.get(id);
  const request = requestLike(whole);
  const session = await client.sessions.get(whole.session_id).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });
  if (!session || session.one_shot || session.state === 'ended') return client.executions.start(request);
  return client.executions.startIn(session.id, request);
}

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
