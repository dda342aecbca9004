// Loads Monaco when an editor is first needed, and keeps its theme in step with the app's.
import { themeFrom } from './theme';

export type Monaco = typeof import('./bundle');
export type TextModel = import('monaco-editor/editor').editor.ITextModel;
export type CodeEditor = import('monaco-editor/editor').editor.IStandaloneCodeEditor;

let loading: Promise<Monaco> | null = null;

/** Loads Monaco once. A failed load (no network) can be tried again. */
export function loadMonaco(): Promise<Monaco> {
  loading ??= import('./bundle').then(
    (monaco) => {
      monaco.prepare();
      followTheme(monaco);
      return monaco;
    },
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** Derives the theme from the CSS variables, now and whenever the theme of the page changes. */
function followTheme(monaco: Monaco): void {
  const apply = (): void => {
    const style = getComputedStyle(document.documentElement);
    const isDark = style.colorScheme === 'dark';
    const theme = themeFrom((name) => style.getPropertyValue(name).trim(), isDark);
    monaco.editor.defineTheme('headwater', theme);
    monaco.editor.setTheme('headwater');
  };
  apply();
  new MutationObserver(apply).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ['data-theme', 'class', 'style'],
  });
}
