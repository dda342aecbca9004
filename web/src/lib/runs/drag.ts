// Selecting output with the pointer: by dragging, beyond the edges of the window too, and by words and lines.
import type { Copier } from './copier.svelte';
import { positionAt } from './pointer';
import { wordAt, type Position } from './selection';
import type { ViewState } from './view.svelte';

/** How often the view moves while the pointer is held beyond an edge. */
const FOLLOW_MS = 40;

export class SelectionDrag {
  #drag: { anchor: Position; x: number; y: number; timer: ReturnType<typeof setInterval> } | null = null;

  constructor(
    private readonly view: ViewState,
    private readonly copier: Copier,
  ) {}

  press(event: PointerEvent): void {
    const target = event.target as Element;
    if (event.button !== 0 || event.pointerType === 'touch' || target.closest('.gutter, button')) return;
    // The browser's own selection ends where the drawn rows end.
    event.preventDefault();
    const { scroller } = this.view;
    scroller?.focus({ preventScroll: true });
    const at = positionAt(event.clientX, event.clientY);
    if (!at) return;
    if (event.shiftKey && this.copier.selection) {
      this.copier.select({ anchor: this.copier.selection.anchor, focus: at });
      return;
    }
    // Empty, but the place where a click with Shift selects from.
    this.copier.select({ anchor: at, focus: at });
    const timer = setInterval(() => this.#follow(), FOLLOW_MS);
    this.#drag = { anchor: at, x: event.clientX, y: event.clientY, timer };
    scroller?.setPointerCapture(event.pointerId);
  }

  move(event: PointerEvent): void {
    if (!this.#drag) return;
    [this.#drag.x, this.#drag.y] = [event.clientX, event.clientY];
    this.#extend();
  }

  release(): void {
    if (this.#drag) clearInterval(this.#drag.timer);
    this.#drag = null;
  }

  clicked(event: MouseEvent): void {
    // A link that was selected across is not followed.
    if (this.copier.hasSelection && (event.target as Element).closest('a.link')) event.preventDefault();
    if (event.detail >= 2 && !(event.target as Element).closest('.gutter')) this.#selectWord(event);
  }

  #extend(): void {
    const { scroller } = this.view;
    if (!this.#drag || !scroller) return;
    const box = scroller.getBoundingClientRect();
    const at = positionAt(this.#drag.x, Math.max(box.top + 2, Math.min(box.bottom - 2, this.#drag.y)));
    if (at) this.copier.select({ anchor: this.#drag.anchor, focus: at });
  }

  /** Scrolls while the pointer is held beyond an edge. */
  #follow(): void {
    const { scroller } = this.view;
    if (!this.#drag || !scroller) return;
    const box = scroller.getBoundingClientRect();
    const { y } = this.#drag;
    const beyond = y < box.top ? y - box.top : y > box.bottom ? y - box.bottom : 0;
    if (beyond === 0) return;
    this.view.scrollBy(Math.sign(beyond) * Math.min(400, Math.abs(beyond) + 10));
    this.#extend();
  }

  #selectWord(event: MouseEvent): void {
    const at = positionAt(event.clientX, event.clientY);
    if (!at) return;
    const text = this.view.document.row(at.row)?.text ?? '';
    const { start, end } = event.detail >= 3 ? { start: 0, end: text.length } : wordAt(text, at.column);
    this.copier.select({ anchor: { row: at.row, column: start }, focus: { row: at.row, column: end } });
  }
}
