// How editors look and behave everywhere in the app.
import type { editor } from 'monaco-editor/editor';

/** The options of an editor. They read the fonts from the page, because Monaco measures characters itself. */
export function editorOptions(): editor.IStandaloneEditorConstructionOptions {
  const style = getComputedStyle(document.documentElement);
  const size = Number.parseFloat(style.getPropertyValue('--code-size')) || 13;
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  return {
    theme: 'headwater',
    automaticLayout: true,
    fontFamily: style.getPropertyValue('--font-mono').trim() || 'monospace',
    fontSize: size,
    lineHeight: Math.round(size * 1.5),
    fontLigatures: false,
    minimap: { enabled: false },
    scrollBeyondLastLine: false,
    smoothScrolling: false,
    cursorBlinking: still ? 'solid' : 'blink',
    renderLineHighlight: 'line',
    bracketPairColorization: { enabled: false },
    guides: { indentation: true },
    stickyScroll: { enabled: false },
    padding: { top: 8, bottom: 8 },
    fixedOverflowWidgets: true,
    overviewRulerBorder: false,
    scrollbar: { verticalScrollbarSize: 10, horizontalScrollbarSize: 10, useShadows: false },
    wordBasedSuggestions: 'currentDocument',
    // Links of a file are text that somebody else may have written: a click must not leave the app.
    links: false,
    accessibilitySupport: 'auto',
    tabSize: 4,
    detectIndentation: true,
  };
}
