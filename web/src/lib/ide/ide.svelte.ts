// Everything that the IDE of one session knows: the parts work together here.
import { ApiError, type ConnectionState, type Execution, type Headwater, type Language, type Session } from 'headwater';
import { strings } from '../strings/en';
import { toast, undoToast } from '../ui';
import { Documents } from './documents.svelte';
import type { Document } from './document.svelte';
import { Files } from './files';
import { Operations } from './operations';
import { isWithin, nameOf, TRASH } from './paths';
import { Ports } from './ports.svelte';
import { Presence } from './presence';
import { Memory } from './remember';
import { Repository } from './repository.svelte';
import { targetOf } from './runbar';
import { Runner } from './runner.svelte';
import * as tabs from './tabs';
import { FileTree } from './tree.svelte';

const words = strings.ide;
/** What is in the trash longer than this is removed when the session is opened. */
const TRASH_MS = 60_000;

export class Ide {
  readonly files: Files;
  readonly memory: Memory;
  readonly tree: FileTree;
  readonly documents: Documents;
  readonly runner: Runner;
  readonly repository: Repository;
  readonly presence: Presence;
  readonly ports: Ports;
  readonly operations = new Operations(this);
  tabs: tabs.TabState = $state.raw(tabs.EMPTY_TABS);
  /** Where the cursor goes in a file that is opened at a place. */
  target: { path: string; line: number; column: number } | null = $state.raw(null);
  languages: Language[] = $state.raw([]);
  executions: Execution[] = $state.raw([]);
  /** Files that other browser tabs have open. */
  elsewhere: ReadonlySet<string> = $state.raw(new Set<string>());
  watchState: ConnectionState = $state('connecting');
  readonly active = $derived(tabs.activeFile(this.tabs));
  readonly #abort = new AbortController();

  constructor(
    readonly client: Headwater,
    readonly session: Session,
    readonly canWrite: boolean,
  ) {
    const id = session.id;
    this.files = new Files(client, id);
    this.memory = new Memory(id);
    this.tree = new FileTree(this.files);
    this.documents = new Documents(this.files);
    this.presence = new Presence(id);
    this.ports = new Ports(client, id, canWrite);
    this.runner = new Runner(client, id, this.memory, {
      save: (path) => this.save(path),
      textOf: (path) => this.#textOf(path),
      onchange: () => void this.loadExecutions(),
    });
    this.repository = new Repository(client, id, () => canWrite && session.state === 'ready' && this.tree.has('.git'));
    this.documents.onedit = (path) => this.runner.edited(path);
    this.documents.onrestore = (document) => this.#restored(document);
    this.presence.files = () => tabs.openFiles(this.tabs);
    this.presence.onchange = (files) => (this.elsewhere = files);
  }

  /** Reads what is needed, and follows what changes, until `close`. */
  async start(): Promise<void> {
    const [living] = await Promise.all([this.presence.living(), this.tree.load('')]);
    this.documents.unsaved.use(this.presence.tab, living);
    const remembered = tabs.readTabs(this.memory.read('tabs'));
    if (remembered !== null && tabs.activeFile(this.tabs) === null) this.tabs = remembered;
    for (const path of this.documents.unsaved.orphans()) {
      if (!tabs.openFiles(this.tabs).includes(path)) this.tabs = tabs.openTab(this.tabs, path);
    }
    for (const path of tabs.openFiles(this.tabs)) this.documents.open(path);
    this.presence.announce();
    if (this.active !== null) void this.tree.reveal(this.active);
    void this.#watch();
    void this.client.languages().then((languages) => (this.languages = languages), toast.error);
    void this.loadExecutions().then(() => this.runner.resume(this.executions.filter(({ exit }) => !exit)));
    this.repository.touch();
    if (this.canWrite && this.tree.has(TRASH)) {
      void this.files.emptyTrash(Date.now() - TRASH_MS).catch(() => undefined);
    }
  }

  close(): void {
    this.#abort.abort();
    this.documents.dispose();
    this.runner.close();
    this.repository.close();
    this.presence.close();
  }

  async #watch(): Promise<void> {
    const onState = (state: ConnectionState): void => {
      this.watchState = state;
    };
    try {
      for await (const change of this.client.files.watch(this.session.id, { signal: this.#abort.signal, onState })) {
        // After `ready`, whatever happened before is not reported: read what is shown.
        if (['ready', 'overflow', 'rescan'].includes(change.type)) await this.#rescan();
        else if (!isWithin(change.path, TRASH) && change.type !== 'limit' && change.type !== 'ended') {
          this.tree.changed(change);
          if (change.from) void this.documents.refresh(change.from);
          void this.documents.refresh(change.path);
          this.repository.touch();
        }
      }
    } catch {
      this.watchState = 'closed';
    }
  }

  async #rescan(): Promise<void> {
    await this.tree.reload();
    for (const path of tabs.openFiles(this.tabs)) void this.documents.refresh(path);
    // A repository may have been created before the watch began, or while the connection was lost.
    this.repository.touch();
  }

  async loadExecutions(): Promise<void> {
    try {
      const page = await this.client.executions.list({ session_id: this.session.id, limit: 50 });
      // Terminals have a place of their own, and `git status` is not something that the user ran.
      this.executions = page.items.filter(({ tty, metadata }) => !tty && metadata['purpose'] !== 'git');
    } catch (error) {
      if (!(error instanceof ApiError)) return;
      this.executions = [];
    }
  }

  // Tabs.

  setTabs(state: tabs.TabState): void {
    this.tabs = state;
    this.memory.write('tabs', state);
    const open = new Set(tabs.openFiles(state));
    for (const { path } of this.documents.all) if (!open.has(path)) this.#closed(path);
    this.presence.announce();
  }

  /** Opens a file, at a place if one is given. */
  open(path: string, place?: { line: number; column?: number }, group?: number): void {
    this.documents.open(path);
    this.setTabs(tabs.openTab(this.tabs, path, group));
    if (place !== undefined) this.target = { path, line: place.line, column: place.column ?? 1 };
    void this.tree.reveal(path);
  }

  openToSide(path: string): void {
    this.documents.open(path);
    const split = this.tabs.groups.length > 1 ? this.tabs : tabs.splitTabs(tabs.openTab(this.tabs, path));
    this.setTabs(tabs.openTab(split, path, 1));
  }

  closeTab(path: string, group: number): void {
    this.setTabs(tabs.closeTab(this.tabs, path, group));
  }

  /** A file has no tab any more. Unsaved text is not lost without a way back. */
  #closed(path: string): void {
    const unsaved = this.documents.close(path);
    if (unsaved === null) return;
    undoToast(words.closeUnsaved(nameOf(path)), () => {
      this.open(path);
      this.insert(path, unsaved);
    });
  }

  /** Puts a text into a file as soon as it is open. */
  insert(path: string, text: string): void {
    const document = this.documents.open(path);
    const apply = (): void => {
      if (document.kind === 'loading') setTimeout(apply, 30);
      else document.model?.pushEditOperations([], [{ range: document.model.getFullModelRange(), text }], () => null);
    };
    apply();
  }

  #restored(document: Document): void {
    toast.info(words.restoredDraft(document.name), {
      action: {
        label: words.discard,
        onclick: () => {
          const base = document.conflict?.text ?? document.baseText;
          if (document.conflict !== null) this.documents.takeTheirs(document);
          else
            document.model?.pushEditOperations(
              [],
              [{ range: document.model.getFullModelRange(), text: base }],
              () => null,
            );
        },
      },
    });
  }

  // Saving.

  /** Saves a file. Returns whether it is saved; a conflict is shown in the editor. */
  async save(path: string): Promise<boolean> {
    const document = this.documents.get(path);
    if (document === null) return true;
    try {
      return await this.documents.save(document);
    } catch (error) {
      toast.error(error);
      return false;
    }
  }

  async saveAll(): Promise<void> {
    for (const document of this.documents.all) if (document.isDirty) await this.save(document.path);
  }

  async #textOf(path: string): Promise<string> {
    const document = this.documents.get(path);
    if (document?.model) return document.text;
    return new TextDecoder().decode((await this.files.read(path)).bytes);
  }

  targetOf(path: string) {
    return targetOf(path, this.languages);
  }
}
