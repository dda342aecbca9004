// The files of one session: the calls that the IDE makes, with paths in its own form.
import type { FileEntry, Headwater, SearchResult } from 'headwater';
import { join, nameOf, parentOf, TRASH } from './paths';

/** More entries of one folder are not shown: nobody reads them, and the tree stays quick. */
export const MAX_ENTRIES = 5000;

export interface Listing {
  entries: FileEntry[];
  isTruncated: boolean;
}

export class Files {
  constructor(
    readonly client: Headwater,
    readonly session: string,
  ) {}

  /** Lists a folder. */
  async list(path: string): Promise<Listing> {
    const entries: FileEntry[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.client.files.list(this.session, { path, limit: 1000, ...(cursor ? { cursor } : {}) });
      entries.push(...page.items);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined && entries.length < MAX_ENTRIES);
    return { entries, isTruncated: cursor !== undefined };
  }

  stat(path: string): Promise<FileEntry> {
    return this.client.files.stat(this.session, path);
  }

  /** Reads a file with its etag, so that both belong together. */
  async read(path: string, range?: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; etag: string }> {
    const response = await this.client.files.content(this.session, path, range ? { headers: { range } } : {});
    const etag = response.headers.get('etag') ?? '';
    return { bytes: new Uint8Array(await response.arrayBuffer()), etag };
  }

  /** Writes a file if it is in the state `etag`, or, with null, if it does not exist. */
  write(path: string, body: Uint8Array<ArrayBuffer> | Blob, etag: string | null): Promise<FileEntry> {
    return this.client.files.write(this.session, path, body, etag === null ? { create: true } : { ifMatch: etag });
  }

  mkdir(path: string): Promise<FileEntry> {
    return this.client.files.mkdir(this.session, path);
  }

  move(from: string, to: string): Promise<FileEntry> {
    return this.client.files.move(this.session, from, to);
  }

  async copy(from: string, to: string): Promise<void> {
    await this.client.files.copy(this.session, from, to);
  }

  search(query: Parameters<Headwater['files']['search']>[1], signal?: AbortSignal): Promise<SearchResult> {
    return this.client.files.search(this.session, query, signal ? { signal } : {});
  }

  /** Moves a file or folder to the trash; returns where it is now. */
  async trash(path: string): Promise<string> {
    const id = `${String(Date.now())}-${Math.random().toString(36).slice(2, 8)}`;
    const to = join(TRASH, id, nameOf(path));
    await this.move(path, to);
    return to;
  }

  /** Removes for good what was deleted before the given time, and the trash folder if it is empty then. */
  async emptyTrash(before = Infinity): Promise<void> {
    let left = 0;
    for (const entry of (await this.list(TRASH)).entries) {
      if (Number(entry.name.split('-')[0]) < before) await this.remove(entry.path);
      else left += 1;
    }
    if (left === 0) await this.remove(TRASH, false);
  }

  /** Removes one thing of the trash for good, and the trash with the last one. */
  async discard(trashed: string): Promise<void> {
    try {
      await this.remove(parentOf(trashed));
      await this.remove(TRASH, false);
    } catch {
      // Something else is still in the trash, or the session has ended: the next start empties it.
    }
  }

  remove(path: string, recursive = true): Promise<void> {
    return this.client.files.remove(this.session, path, { recursive });
  }

  /** The address for downloading a file. The server always sends it as an attachment. */
  contentUrl(path: string): string {
    return this.client.url(`/v1/sessions/${this.session}/files/content`, { path });
  }

  archiveUrl(path: string): string {
    return this.client.url(`/v1/sessions/${this.session}/files/archive`, { path, format: 'zip' });
  }
}
