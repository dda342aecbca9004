// One open file: its text, whether it is saved, and what happens when it changes underneath.
import type { FileEntry } from 'headwater';
import type { TextModel } from '../editor/monaco';
import { nameOf } from './paths';

export type DocumentKind = 'loading' | 'text' | 'image' | 'binary' | 'large' | 'error';

/** What is on disk, when it is neither what the editor started from nor what it has now. */
export interface Conflict {
  text: string;
  etag: string;
}

export class Document {
  path = $state('');
  kind: DocumentKind = $state('loading');
  /** The model is made when the text has arrived. Everything else shows no editor. */
  model: TextModel | null = $state.raw(null);
  isDirty = $state(false);
  isSaving = $state(false);
  savedAt: Date | null = $state.raw(null);
  conflict: Conflict | null = $state.raw(null);
  isComparing = $state(false);
  /** The file no longer exists. */
  isGone = $state(false);
  /** The browser has no room for the unsaved text. */
  isUnprotected = $state(false);
  error: unknown = $state.raw(null);
  size = $state(0);
  /** Changes whenever the bytes on disk do: pictures are loaded again. */
  etag: string | null = $state(null);
  readonly name = $derived(nameOf(this.path));

  /** The text that the file had when it was read or saved last. */
  baseText = '';
  hasBom = false;
  /** Monaco's number of the state that is saved: undoing back to it makes the file clean again. */
  savedVersion = 0;

  constructor(path: string) {
    this.path = path;
  }

  get text(): string {
    return this.model?.getValue() ?? '';
  }

  /** The editor's text is what the file has now. */
  markSaved(text: string, file: Pick<FileEntry, 'etag' | 'size'>, version: number): void {
    this.baseText = text;
    this.etag = file.etag;
    this.size = file.size;
    this.savedVersion = version;
    this.isGone = false;
    this.conflict = null;
    this.isComparing = false;
    this.updateDirty();
  }

  updateDirty(): void {
    this.isDirty = this.model !== null && this.model.getAlternativeVersionId() !== this.savedVersion;
  }
}

export type Incoming = 'same' | 'adopt' | 'replace' | 'saved' | 'conflict';

/**
 * What to do when the file on disk may have changed. `adopt`: the same text under a new etag; `replace`: the editor has
 * no changes of its own; `saved`: something else wrote just what the editor has.
 */
export function decideIncoming(
  document: { etag: string | null; baseText: string; isDirty: boolean },
  incoming: { etag: string; text: string },
  mine: string,
): Incoming {
  if (incoming.etag === document.etag) return 'same';
  if (incoming.text === document.baseText) return 'adopt';
  if (incoming.text === mine) return 'saved';
  return document.isDirty ? 'conflict' : 'replace';
}
