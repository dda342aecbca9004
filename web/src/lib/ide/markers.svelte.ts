// Puts the problems of builds into the editors of the open files.
import { showMarkers, type Marker } from '../editor/markers';
import { loadMonaco, type TextModel } from '../editor/monaco';
import { strings } from '../strings/en';
import { fixesOf, pathOf, rangeOf, type Problem } from './diagnostics';
import type { Ide } from './ide.svelte';

/** Follows the problems and the open files. Call it in a component. */
export function followMarkers(ide: Ide): void {
  $effect(() => {
    const problems = [...ide.runner.problems.values()].flat();
    const models = new Map(ide.documents.all.map(({ path, model }) => [path, model]));
    if (![...models.values()].some((model) => model !== null)) return;
    void loadMonaco().then((monaco) => {
      for (const [path, model] of models) {
        if (model === null || model.isDisposed()) continue;
        const own = problems.filter((problem) => pathOf(problem.path) === path);
        showMarkers(
          monaco,
          model,
          own.map((problem) => markerOf(problem, model, models)),
        );
      }
    });
  });
}

function markerOf(problem: Problem, model: TextModel, models: Map<string, TextModel | null>): Marker {
  const lineOf = (text: TextModel | null | undefined) => (line: number) =>
    text && line <= text.getLineCount() ? text.getLineContent(line) : '';
  const { source } = problem;
  return {
    range: rangeOf(source, lineOf(model)),
    severity: problem.severity,
    message: problem.message,
    code: problem.option,
    related: source.notes.map((note) => {
      const other = models.get(pathOf(note.file) ?? '') ?? null;
      return { model: other, range: rangeOf(note, lineOf(other)), message: note.message };
    }),
    fixes: fixesOf(source, (path, line) => lineOf(models.get(path))(line)).flatMap(({ title, edits }) => {
      const withModels = edits.flatMap((edit) => {
        const target = models.get(edit.path);
        return target ? [{ ...edit, model: target }] : [];
      });
      // A fix that is only half in open files would leave the program broken.
      return withModels.length === edits.length ? [{ title: strings.ide.fix(title), edits: withModels }] : [];
    }),
  };
}
