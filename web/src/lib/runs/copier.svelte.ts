// The selection of an output view and what is copied: with feedback, and also if it is not all in memory.
import { runs as words } from '../strings/runs';
import { copyText, toast } from '../ui';
import { everything, loadText, selectedText, TooLargeError } from './copy';
import { isEmpty, ordered, type Selection } from './selection';
import type { ViewState } from './view.svelte';

const FEEDBACK_MS = 1800;

export class Copier {
  selection = $state.raw<Selection | null>(null);
  /** What was copied, for a moment. */
  feedback = $state('');
  isBusy = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly view: ViewState) {}

  get hasSelection(): boolean {
    return !isEmpty(this.selection);
  }

  select(selection: Selection | null): void {
    this.selection = selection;
    this.view.selection = selection;
    this.view.requestDraw();
  }

  /** Ctrl+C, or Copy in a menu of the browser. */
  copyEvent(event: ClipboardEvent): void {
    if (!this.selection || !this.hasSelection) return;
    const text = selectedText(this.view.document, this.selection);
    event.preventDefault();
    if (text === null) {
      void this.copySelection();
      return;
    }
    event.clipboardData?.setData('text/plain', text);
    this.#say(text);
  }

  keydown(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === 'a') this.select(everything(this.view.document));
    else if (key === 'c' && this.hasSelection) void this.copySelection();
    else return;
    event.preventDefault();
  }

  copySelection(): Promise<void> {
    return this.selection ? this.#copy(this.selection) : Promise.resolve();
  }

  copyVisible(): Promise<void> {
    const { first, last } = this.view.visible;
    return this.#copy({ anchor: { row: first, column: 0 }, focus: { row: last, column: Infinity } });
  }

  copyAll(): Promise<void> {
    return this.#copy(everything(this.view.document));
  }

  async #copy(selection: Selection): Promise<void> {
    this.isBusy = true;
    try {
      const text =
        selectedText(this.view.document, selection) ??
        (await loadText(this.view.document, selection, new AbortController().signal));
      await copyText(text);
      this.#say(text, ordered(selection).to.column === 0);
    } catch (error) {
      toast.error(error instanceof TooLargeError ? words.copyTooLarge : error);
    } finally {
      this.isBusy = false;
    }
  }

  #say(text: string, endsWithLine = false): void {
    const breaks = text.split('\n').length;
    this.feedback = words.copied(text === '' ? 0 : endsWithLine && text.endsWith('\n') ? breaks - 1 : breaks);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.feedback = ''), FEEDBACK_MS);
  }
}
