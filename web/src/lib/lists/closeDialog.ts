// Closing a dialog from within.

/**
 * Closes the dialog around an element as Esc does: the focus returns to where it was, and `onclose` is called. Removing
 * the dialog from the document does neither.
 */
export function closeDialog(within: EventTarget | null): void {
  if (within instanceof Element) within.closest('dialog')?.close();
}
