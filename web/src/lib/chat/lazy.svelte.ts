// Parts of the chat that the first view does not need: the parser of Markdown, and what is inside of tool cards. They are
// asked for when the page starts, so that they are there when something has to be shown.
import type { Component } from 'svelte';
import type Markdown from './markdown/Markdown.svelte';
import type CardBody from './tools/CardBody.svelte';
import type ExecutionOutput from './tools/ExecutionOutput.svelte';

class Lazy<Part extends Component<never>> {
  /** The component, once it is loaded. */
  current = $state.raw<Part | null>(null);
  #isLoading = false;

  constructor(private readonly load: () => Promise<{ default: Part }>) {}

  start(): void {
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.load().then(
      ({ default: part }) => (this.current = part),
      // `watchParts` says that a part could not be loaded.
      () => (this.#isLoading = false),
    );
  }
}

export const markdown = new Lazy<typeof Markdown>(() => import('./markdown/Markdown.svelte'));
export const cardBody = new Lazy<typeof CardBody>(() => import('./tools/CardBody.svelte'));
export const executionOutput = new Lazy<typeof ExecutionOutput>(() => import('./tools/ExecutionOutput.svelte'));

/** Follows an execution before its card is there, once what cards need is loaded. */
export const early: { follow: (execution: string) => void } = { follow: () => undefined };

export function startParts(): void {
  markdown.start();
  cardBody.start();
  import('./tools/executions').then(
    ({ executions }) => (early.follow = (id) => executions.begin(id)),
    // Then the card begins.
    () => undefined,
  );
}
