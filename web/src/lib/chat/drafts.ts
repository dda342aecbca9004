// Text that was written and not sent: it survives a reload of the page.
import { loadItem, saveItem } from '../app/storage';

/** Larger drafts are kept by the page only. */
const MAX = 100_000;

const keyOf = (conversation: string | null): string => `chat.draft.${conversation ?? 'new'}`;

export function loadDraft(conversation: string | null): string {
  return loadItem(keyOf(conversation)) ?? '';
}

export function saveDraft(conversation: string | null, text: string): void {
  saveItem(keyOf(conversation), text === '' || text.length > MAX ? null : text);
}
