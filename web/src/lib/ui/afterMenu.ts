// What a menu does when it is gone. A menu keeps the focus while it is open and gives it back when it closes, so an action
// that focuses something, such as the field of a new name, has to wait.

export class AfterMenu {
  #planned: (() => void) | null = null;

  plan(run: () => void): void {
    this.#planned = run;
  }

  /** The menu is about to give the focus back. */
  closed(event: Event): void {
    const run = this.#planned;
    this.#planned = null;
    if (run === null) return;
    event.preventDefault();
    setTimeout(run);
  }
}
