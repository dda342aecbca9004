// The open files of a session: opens them, saves them, and follows changes on disk.
import { ApiError } from 'headwater';
import { loadMonaco, type Monaco } from '../editor/monaco';
import { decode, encode, imageTypeOf, PLAIN_FROM, TOO_LARGE } from './content';
import { decideIncoming, Document } from './document.svelte';
import { hashOf, type Draft } from './drafts';
import type { Files } from './files';
import { monacoLanguageOf } from './languages';
import { afterMove, isWithin } from './paths';
import { Unsaved } from './unsaved';

export class Documents {
  all: Document[] = $state.raw([]);
  readonly #files: Files;
  readonly unsaved: Unsaved;
  #models = 0;
  /** Called when the text of a file changes by typing. */
  onedit: (path: string) => void = () => undefined;
  /** Called when unsaved text was found and put back. */
  onrestore: (document: Document) => void = () => undefined;

  constructor(files: Files) {
    this.#files = files;
    this.unsaved = new Unsaved(files.session);
  }

  get(path: string): Document | null {
    return this.all.find((document) => document.path === path) ?? null;
  }

  /** Returns the document of a path; reads it if it is not open. */
  open(path: string): Document {
    const known = this.get(path);
    if (known !== null) return known;
    const document = new Document(path);
    this.all = [...this.all, document];
    void this.load(document);
    return document;
  }

  async load(document: Document): Promise<void> {
    document.error = null;
    document.kind = 'loading';
    try {
      const draft = this.unsaved.find(document.path);
      const entry = await this.#files.stat(document.path).catch((error: unknown) => {
        // Unsaved text of a file that is gone is still worth showing.
        if (draft !== null && error instanceof ApiError && error.status === 404) return null;
        throw error;
      });
      document.size = entry?.size ?? 0;
      document.etag = entry?.etag ?? null;
      if (entry !== null && entry.type !== 'file') throw new NotAFile();
      if (imageTypeOf(document.path) !== null) document.kind = 'image';
      else if (document.size > TOO_LARGE) document.kind = 'large';
      else await this.#loadText(document, entry === null, draft);
    } catch (error) {
      document.error = error;
      document.kind = 'error';
    }
  }

  async #loadText(document: Document, isGone: boolean, draft: Draft | null): Promise<void> {
    const monaco = await loadMonaco();
    const read = isGone ? { bytes: new Uint8Array(), etag: '' } : await this.#files.read(document.path);
    const content = decode(read.bytes);
    if (content.kind === 'binary') {
      document.kind = 'binary';
      return;
    }
    if (!this.all.includes(document)) return;
    const model = this.#modelFor(monaco, document, content.text);
    document.model = model;
    document.hasBom = content.bom;
    document.markSaved(content.text, { etag: read.etag, size: read.bytes.length }, model.getAlternativeVersionId());
    document.isGone = isGone;
    if (isGone) document.etag = null;
    model.onDidChangeContent(() => this.#changed(document));
    document.kind = 'text';
    if (draft !== null && draft.text !== content.text) this.#restore(document, draft, content.text);
    else if (draft !== null) this.unsaved.remove(draft.path, draft.tab);
  }

  #modelFor(monaco: Monaco, document: Document, text: string) {
    // A number makes it unique: a renamed file keeps its model, and a new file may take its old path.
    const path = `/${this.#files.session}/${String((this.#models += 1))}/${document.path}`;
    const uri = monaco.Uri.from({ scheme: 'file', path });
    const language = text.length > PLAIN_FROM ? 'plaintext' : monacoLanguageOf(document.path);
    const model = monaco.editor.createModel(text, language, uri);
    // The theme colours code by the colours of the app; brackets in colours of their own would not belong to it.
    model.updateOptions({ bracketColorizationOptions: { enabled: false, independentColorPoolPerBracketType: false } });
    return model;
  }

  /** Puts unsaved text back, as one edit that can be undone. */
  #restore(document: Document, draft: Draft, onDisk: string): void {
    document.model?.pushEditOperations(
      [],
      [{ range: document.model.getFullModelRange(), text: draft.text }],
      () => null,
    );
    this.unsaved.adopt(draft);
    const isBase = draft.etag === document.etag || draft.base === hashOf(onDisk);
    if (!isBase && document.etag !== null) document.conflict = { text: onDisk, etag: document.etag };
    document.updateDirty();
    this.unsaved.keep(document);
    this.onrestore(document);
  }

  #changed(document: Document): void {
    document.updateDirty();
    this.unsaved.keepSoon(document);
    if (document.isDirty) this.onedit(document.path);
  }

  /** Keeps all unsaved text in the browser, at once: the page is going away. */
  flush(): void {
    this.unsaved.flush();
  }

  /** Saves a file. Returns whether what is on disk is now what the editor had. */
  async save(document: Document): Promise<boolean> {
    const model = document.model;
    if (model === null || document.conflict !== null) return document.conflict === null;
    if (!document.isDirty && !document.isGone) return true;
    while (document.isSaving) await new Promise((resolve) => setTimeout(resolve, 20));
    document.isSaving = true;
    try {
      const version = model.getAlternativeVersionId();
      const text = model.getValue();
      // A second attempt: the file may have been written anew with the same text.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        try {
          const etag = document.isGone ? null : document.etag;
          const file = await this.#files.write(document.path, encode(text, document.hasBom), etag);
          document.markSaved(text, file, version);
          document.savedAt = new Date();
          this.unsaved.keep(document);
          return true;
        } catch (error) {
          if (!(error instanceof ApiError) || (error.status !== 412 && error.status !== 409)) throw error;
          if (!(await this.#meet(document, attempt > 0))) return document.conflict === null && !document.isDirty;
        }
      }
      return false;
    } finally {
      document.isSaving = false;
    }
  }

  /** The file is not as expected: looks at it. Returns whether the save may be tried again. */
  async #meet(document: Document, isSecond: boolean): Promise<boolean> {
    const read = await this.#files.read(document.path).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    if (read === null) {
      document.isGone = true;
      return !isSecond;
    }
    document.isGone = false;
    const content = decode(read.bytes);
    const text = content.kind === 'text' ? content.text : '';
    const decision = this.#take(document, text, read.etag, true);
    if (decision === 'conflict') document.conflict = { text, etag: read.etag };
    return (decision === 'adopt' || decision === 'same') && !isSecond;
  }

  /** Applies what is on disk. `isDirty` is given by the caller, which may be saving. */
  #take(document: Document, text: string, etag: string, isDirty = document.isDirty) {
    const decision = decideIncoming(
      { etag: document.etag, baseText: document.baseText, isDirty },
      { etag, text },
      document.text,
    );
    const model = document.model;
    if (decision === 'adopt') document.etag = etag;
    if (decision === 'replace') this.#setText(document, text);
    if ((decision === 'replace' || decision === 'saved') && model !== null) {
      document.markSaved(text, { etag, size: document.size }, model.getAlternativeVersionId());
      this.unsaved.keep(document);
    }
    return decision;
  }

  #setText(document: Document, text: string): void {
    const model = document.model;
    model?.pushEditOperations([], [{ range: model.getFullModelRange(), text }], () => null);
  }

  /** Something changed the file: reads it if it is really different. */
  async refresh(path: string): Promise<void> {
    const document = this.get(path);
    if (document === null || document.isSaving || document.kind === 'loading') return;
    try {
      const entry = await this.#files.stat(path);
      if (entry.etag === document.etag && !document.isGone) return;
      if (document.model === null) {
        document.size = entry.size;
        document.etag = entry.etag;
        if (document.kind === 'error' || document.kind === 'binary') await this.load(document);
        return;
      }
      const { bytes, etag } = await this.#files.read(path);
      // A save that began meanwhile decides by its own answer.
      if (document.isSaving || etag === document.etag) return;
      const content = decode(bytes);
      if (content.kind === 'binary') return;
      document.isGone = false;
      if (this.#take(document, content.text, etag) === 'conflict') document.conflict = { text: content.text, etag };
    } catch (error) {
      // A file that was renamed meanwhile is not gone.
      if (error instanceof ApiError && error.status === 404 && document.path === path) document.isGone = true;
    }
  }

  /** Ends a conflict: with the text of the editor, which is saved over what is on disk. */
  async keepMine(document: Document): Promise<boolean> {
    if (document.conflict === null) return true;
    document.etag = document.conflict.etag;
    document.baseText = document.conflict.text;
    document.conflict = null;
    document.isComparing = false;
    return this.save(document);
  }

  /** Ends a conflict: with what is on disk. Returns the text that was in the editor. */
  takeTheirs(document: Document): string {
    const mine = document.text;
    const { conflict, model } = document;
    if (conflict === null || model === null) return mine;
    this.#setText(document, conflict.text);
    document.markSaved(conflict.text, { etag: conflict.etag, size: document.size }, model.getAlternativeVersionId());
    this.unsaved.keep(document);
    return mine;
  }

  /** Forgets a file that has no tab any more. Returns its unsaved text, if it had some. */
  close(path: string): string | null {
    const document = this.get(path);
    if (document === null) return null;
    const unsaved = document.isDirty ? document.text : null;
    this.unsaved.drop(document);
    this.all = this.all.filter((other) => other !== document);
    document.model?.dispose();
    return unsaved;
  }

  /** Follows a move of a file or a folder: the text stays, with what can be undone, unless the language changes. */
  async rename(from: string, to: string): Promise<void> {
    for (const document of this.all.filter(({ path }) => isWithin(path, from))) {
      this.unsaved.remove(document.path);
      document.path = afterMove(document.path, from, to);
      document.isGone = false;
      if (document.model !== null) {
        const monaco = await loadMonaco();
        monaco.editor.setModelLanguage(document.model, monacoLanguageOf(document.path));
        // A move changes the inode's change time, and with it the etag.
        const entry = await this.#files.stat(document.path).catch(() => null);
        if (entry !== null && document.conflict === null) document.etag = entry.etag;
        this.unsaved.keep(document);
      }
    }
  }

  dispose(): void {
    this.flush();
    for (const document of this.all) document.model?.dispose();
    this.all = [];
  }
}

/** The path is a link, a folder or a special file. */
export class NotAFile extends Error {}
