// Unsaved text, kept in the browser until it is saved, so that it survives a crash or a reload of the tab. Each browser
// tab has drafts of its own: two tabs that edit one file do not overwrite each other's.

export interface Draft {
  path: string;
  text: string;
  /** The state of the file that the text is based on; null if it did not exist. */
  etag: string | null;
  /** A hash of the text that it is based on: the same text under a new etag is no conflict. */
  base: number;
  at: number;
  tab: string;
}

const PREFIX = 'headwater:draft:';

/** The drafts of one session, as seen by one browser tab. */
export class Drafts {
  constructor(
    private readonly session: string,
    readonly tab: string,
    private readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>,
  ) {}

  /** Keeps a draft. Returns false if the browser has no room for it. */
  put(draft: Omit<Draft, 'tab'>): boolean {
    try {
      this.storage.setItem(this.#key(this.tab, draft.path), JSON.stringify({ ...draft, tab: this.tab }));
      return true;
    } catch {
      return false;
    }
  }

  remove(path: string, tab = this.tab): void {
    try {
      this.storage.removeItem(this.#key(tab, path));
    } catch {
      // Storage that cannot be used keeps nothing.
    }
  }

  /** The drafts of this session, of all tabs, newest first. */
  all(): Draft[] {
    const drafts: Draft[] = [];
    try {
      for (let index = 0; index < this.storage.length; index += 1) {
        const key = this.storage.key(index);
        if (key?.startsWith(`${PREFIX}${this.session}:`)) {
          const draft = parseDraft(this.storage.getItem(key));
          if (draft !== null) drafts.push(draft);
        }
      }
    } catch {
      return [];
    }
    return drafts.sort((a, b) => b.at - a.at);
  }

  /** The draft to continue with: this tab's own, or the newest of a tab that no longer exists. */
  find(path: string, living: ReadonlySet<string>): Draft | null {
    const drafts = this.all().filter((draft) => draft.path === path);
    return drafts.find((draft) => draft.tab === this.tab) ?? drafts.find((draft) => !living.has(draft.tab)) ?? null;
  }

  #key(tab: string, path: string): string {
    return `${PREFIX}${this.session}:${tab}:${path}`;
  }
}

function parseDraft(text: string | null): Draft | null {
  if (text === null) return null;
  try {
    const value = JSON.parse(text) as Partial<Draft> | null;
    if (typeof value?.path !== 'string' || typeof value.text !== 'string' || typeof value.tab !== 'string') return null;
    return {
      path: value.path,
      text: value.text,
      tab: value.tab,
      etag: typeof value.etag === 'string' ? value.etag : null,
      base: typeof value.base === 'number' ? value.base : 0,
      at: typeof value.at === 'number' ? value.at : 0,
    };
  } catch {
    return null;
  }
}

/** A hash of a text (FNV-1a, 32 bits): enough to see whether a base is the same, not to protect anything. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
