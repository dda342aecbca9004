// Shows diagnostics of builds as Monaco's markers, and their fix-its as code actions.
import type { Edit, EditorRange, Severity } from '../ide/diagnostics';
import type { Monaco, TextModel } from './monaco';

export interface Marker {
  range: EditorRange;
  severity: Severity;
  message: string;
  code: string | null;
  /** Notes that belong to it, as text. */
  related: { model: TextModel | null; range: EditorRange; message: string }[];
  fixes: { title: string; edits: (Edit & { model: TextModel })[] }[];
}

const OWNER = 'build';
const shown = new WeakMap<TextModel, Marker[]>();
let isRegistered = false;

/** Replaces the markers of a model. */
export function showMarkers(monaco: Monaco, model: TextModel, markers: Marker[]): void {
  register(monaco);
  shown.set(model, markers);
  const severities = {
    error: monaco.MarkerSeverity.Error,
    warning: monaco.MarkerSeverity.Warning,
    note: monaco.MarkerSeverity.Info,
  };
  monaco.editor.setModelMarkers(
    model,
    OWNER,
    markers.map(({ range, severity, message, code, related }) => ({
      ...range,
      severity: severities[severity],
      message,
      ...(code === null ? {} : { code }),
      relatedInformation: related.flatMap((note) =>
        note.model === null ? [] : [{ resource: note.model.uri, message: note.message, ...note.range }],
      ),
    })),
  );
}

/** One provider for all languages: it knows only what builds said. */
function register(monaco: Monaco): void {
  if (isRegistered) return;
  isRegistered = true;
  monaco.languages.registerCodeActionProvider('*', {
    provideCodeActions(model, range, context) {
      const markers = shown.get(model) ?? [];
      const actions = markers
        .filter((marker) => monaco.Range.areIntersectingOrTouching(marker.range, range))
        .flatMap((marker) =>
          marker.fixes.map((fix, index) => ({
            title: fix.title,
            kind: 'quickfix',
            isPreferred: index === 0,
            diagnostics: context.markers.filter(({ message }) => message === marker.message),
            edit: {
              edits: fix.edits.map((edit) => ({
                resource: edit.model.uri,
                versionId: undefined,
                textEdit: { range: edit.range, text: edit.text },
              })),
            },
          })),
        );
      return { actions, dispose: () => undefined };
    },
  });
}
