// KaTeX with its fonts, in a part of its own.
import katex from 'katex';
import 'katex/dist/katex.min.css';

/** Draws a formula into an element by DOM calls. Returns whether it could be read. */
export function render(tex: string, element: HTMLElement, displayMode: boolean): boolean {
  try {
    katex.render(tex, element, { displayMode, trust: false, strict: false, maxSize: 20, maxExpand: 500 });
    return true;
  } catch {
    return false;
  }
}
