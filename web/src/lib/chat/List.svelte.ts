// The list of conversations: search, the archive, and what can be done with one.
import { toast } from '../ui';
import { gone, removeWithUndo } from '../lists/gone.svelte';
import { Paged } from '../lists/Paged.svelte';
import { chat as words } from '../strings/chat';
import { pathOf, type ChatApi } from './api';
import type { ConversationInfo } from './types';

const PAGE = 40;

export class ConversationList {
  q = $state('');
  isArchive = $state(false);
  readonly page: Paged<ConversationInfo>;
  readonly shown: readonly ConversationInfo[] = $derived.by(() =>
    this.page.items.filter(({ id, is_archived }) => !gone.has(id) && is_archived === this.isArchive),
  );

  constructor(readonly api: ChatApi) {
    this.page = new Paged((cursor, signal) =>
      api.list({ ...(this.q ? { q: this.q } : {}), archived: this.isArchive, limit: PAGE, cursor }, signal),
    );
  }

  /** Asks again after the question has changed. */
  start(): Promise<void> {
    return this.page.start();
  }

  /** Takes over what is new. An error shows in the connection state of the app; the rows stay as they are. */
  refresh(): Promise<void> {
    return this.page.refreshHead().catch(() => undefined);
  }

  async rename(conversation: ConversationInfo, title: string): Promise<void> {
    this.page.put({ ...conversation, title });
    await this.#change(conversation, { title });
  }

  async archive(conversation: ConversationInfo, isArchived: boolean): Promise<void> {
    this.page.put({ ...conversation, is_archived: isArchived });
    await this.#change(conversation, { is_archived: isArchived });
  }

  async #change(before: ConversationInfo, patch: { title: string } | { is_archived: boolean }): Promise<void> {
    try {
      this.page.put(await this.api.change(before.id, patch));
    } catch (error) {
      this.page.put(before);
      toast.error(error);
    }
  }

  remove(conversation: Pick<ConversationInfo, 'id' | 'title'>): void {
    const { id, title } = conversation;
    removeWithUndo({
      id,
      message: words.actions.removed(title ?? words.untitled),
      failed: words.actions.removeFailed,
      path: pathOf(id),
      send: () => this.api.remove(id),
      onsent: () => this.page.remove(id),
    });
  }
}
