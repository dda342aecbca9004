// What the user has deleted and the server has not yet: hidden from all lists until the request is sent or undone.

import { SvelteSet } from 'svelte/reactivity';
import { toast, undoToast } from '$lib/ui';
import { deferred } from './deferred';

/** How long "Undo" is offered. */
const UNDO_MS = 6000;

/** The ids that lists leave out. */
export const gone = new SvelteSet<string>();

interface Removal {
  readonly id: string;
  /** What will happen, for the toast. */
  readonly message: string;
  /** The title of the error if it does not. */
  readonly failed: string;
  /** Sends the request in the usual way. */
  readonly send: () => Promise<unknown>;
  /** The path of the same request, sent so that it outlives the page. */
  readonly path: string;
  readonly onsent?: () => void;
  /** No toast: a modal dialog, which makes everything else inert, offers "Undo" itself. */
  readonly isQuiet?: boolean;
}

/** Hides something at once and deletes it after a while, unless the user takes it back. */
export function removeWithUndo(removal: Removal): void {
  const { id } = removal;
  gone.add(id);
  deferred.schedule(id, UNDO_MS, (isLeaving) => {
    if (isLeaving) {
      void fetch(removal.path, { method: 'DELETE', keepalive: true, credentials: 'same-origin' });
      return;
    }
    removal.send().then(
      () => removal.onsent?.(),
      (error: unknown) => {
        gone.delete(id);
        toast.error(error, { description: removal.failed });
      },
    );
  });
  if (!removal.isQuiet) undoToast(removal.message, () => undoRemoval(id), UNDO_MS);
}

/** Takes a removal back, unless it has been sent. */
export function undoRemoval(id: string): void {
  if (deferred.undo(id)) gone.delete(id);
}
