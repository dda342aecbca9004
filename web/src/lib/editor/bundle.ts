// Everything of Monaco that the app uses, in one module, so that one `import()` loads it. Only monaco.ts imports this.
import 'monaco-editor/features/register.all';
import { typescript } from 'monaco-editor/languages/register.all';
import EditorWorker from 'monaco-editor/editor/editor.worker?worker';
import CssWorker from 'monaco-editor/languages/features/css/css.worker?worker';
import HtmlWorker from 'monaco-editor/languages/features/html/html.worker?worker';
import JsonWorker from 'monaco-editor/languages/features/json/json.worker?worker';
import TsWorker from 'monaco-editor/languages/features/typescript/ts.worker?worker';

export * from 'monaco-editor/editor';

const WORKERS: Record<string, new () => Worker> = {
  css: CssWorker,
  scss: CssWorker,
  less: CssWorker,
  html: HtmlWorker,
  json: JsonWorker,
  javascript: TsWorker,
  typescript: TsWorker,
};

/** Prepares Monaco: where its workers come from, and how much it checks. */
export function prepare(): void {
  self.MonacoEnvironment = { getWorker: (_, label) => new (WORKERS[label] ?? EditorWorker)() };
  // The packages of the session are not here, so every import would be reported as an error.
  for (const defaults of [typescript.typescriptDefaults, typescript.javascriptDefaults]) {
    defaults.setDiagnosticsOptions({ noSemanticValidation: true, noSuggestionDiagnostics: true });
  }
}
