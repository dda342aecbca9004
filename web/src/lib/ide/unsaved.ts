// Keeps the unsaved text of documents in the browser, a moment after each change, and finds it after a crash of the tab.
import type { Document } from './document.svelte';
import { Drafts, hashOf, type Draft } from './drafts';

/** How long after a keystroke the unsaved text is put into the browser's storage. */
const DRAFT_MS = 150;

export class Unsaved {
  #drafts: Drafts | null = null;
  #living: ReadonlySet<string> = new Set();
  readonly #timers = new Map<Document, ReturnType<typeof setTimeout>>();

  constructor(private readonly session: string) {}

  /** Drafts can be used once it is known which tabs live. */
  use(tab: string, living: ReadonlySet<string>): void {
    this.#drafts = new Drafts(this.session, tab, localStorage);
    this.#living = living;
  }

  /** The paths with unsaved text that no living tab has: they are opened again. */
  orphans(): string[] {
    const drafts = this.#drafts;
    if (drafts === null) return [];
    return drafts
      .all()
      .filter((draft) => draft.tab === drafts.tab || !this.#living.has(draft.tab))
      .map((draft) => draft.path);
  }

  find(path: string): Draft | null {
    return this.#drafts?.find(path, this.#living) ?? null;
  }

  /** The draft is in the editor of this tab now: the one of another tab is not needed any more. */
  adopt(draft: Draft): void {
    if (draft.tab !== this.#drafts?.tab) this.#drafts?.remove(draft.path, draft.tab);
  }

  remove(path: string, tab?: string): void {
    this.#drafts?.remove(path, tab);
  }

  /** Forgets a document that is closed. */
  drop(document: Document): void {
    clearTimeout(this.#timers.get(document));
    this.#timers.delete(document);
    this.remove(document.path);
  }

  keepSoon(document: Document): void {
    clearTimeout(this.#timers.get(document));
    this.#timers.set(
      document,
      setTimeout(() => this.keep(document), DRAFT_MS),
    );
  }

  keep(document: Document): void {
    clearTimeout(this.#timers.get(document));
    this.#timers.delete(document);
    if (document.isDirty) {
      const { path, text, etag, baseText } = document;
      const kept = this.#drafts?.put({ path, text, etag, base: hashOf(baseText), at: Date.now() }) ?? false;
      document.isUnprotected = !kept;
    } else {
      this.remove(document.path);
      document.isUnprotected = false;
    }
  }

  /** Keeps everything that waits, at once: the page is going away. */
  flush(): void {
    for (const document of [...this.#timers.keys()]) this.keep(document);
  }
}
