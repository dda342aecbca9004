// The changes of files that a tool call asks for, as lines to show.
import { diffLines, foldSame, splitLines } from '../../history/diff';
import { inputOf } from './describe';
import type { ToolCall } from '../types';

export interface ChangedLine {
  kind: 'same' | 'left' | 'right' | 'gap';
  text: string;
}

export interface FileChange {
  path: string;
  action: 'add' | 'update' | 'delete';
  /** The new path of a file that moves. */
  moveTo: string | null;
  lines: ChangedLine[];
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const HEAD = /^\*\*\* (Add|Update|Delete) File: (.+)$/;

/** The files of a patch in the format of `apply_patch`, also if it is not complete. */
export function readPatch(patch: string): FileChange[] {
  const files: FileChange[] = [];
  for (const line of patch.split('\n')) {
    const head = HEAD.exec(line);
    const file = files.at(-1);
    if (head) {
      const action = (head[1] as string).toLowerCase() as FileChange['action'];
      files.push({ path: (head[2] as string).trim(), action, moveTo: null, lines: [] });
    } else if (file) readLine(file, line);
  }
  return files;
}

function readLine(file: FileChange, line: string): void {
  const move = /^\*\*\* Move to: (.+)$/.exec(line);
  if (move) file.moveTo = (move[1] as string).trim();
  else if (line.startsWith('***')) return;
  else if (line.startsWith('@@')) {
    file.lines.push({ kind: 'gap', text: line.replace(/^@@ ?/, '').replace(/ ?@@$/, '') });
  } else if (line.startsWith('+')) file.lines.push({ kind: 'right', text: line.slice(1) });
  else if (line.startsWith('-')) file.lines.push({ kind: 'left', text: line.slice(1) });
  else if (line.startsWith(' ')) file.lines.push({ kind: 'same', text: line.slice(1) });
}

/** The lines of a change from one text to another. */
function between(before: string, after: string): ChangedLine[] {
  const { lines } = diffLines(splitLines(before), splitLines(after), 500);
  return foldSame(lines).flatMap((hunk): ChangedLine[] =>
    hunk.kind === 'fold'
      ? [{ kind: 'gap', text: '' }]
      : hunk.lines.map(({ kind, text: line }) => ({ kind, text: line })),
  );
}

/** The changes of `apply_patch`, `edit_file` or `write_file`. */
export function changesOf(call: ToolCall): FileChange[] {
  const input = inputOf(call);
  const path = text(input['file_path']) || text(input['path']);
  if (call.tool === 'apply_patch') {
    const raw = typeof call.input === 'string' ? call.input : text(input['input']) || text(input['patch']);
    return readPatch(raw);
  }
  if (call.tool === 'edit_file') {
    const lines = between(text(input['old_string']), text(input['new_string']));
    return [{ path, action: 'update', moveTo: null, lines }];
  }
  const lines = splitLines(text(input['content'])).map((line): ChangedLine => ({ kind: 'right', text: line }));
  return [{ path, action: 'add', moveTo: null, lines }];
}

/** How many lines come and go. */
export function countChanges(files: readonly FileChange[]): { added: number; removed: number } {
  const count = (kind: ChangedLine['kind']): number =>
    files.reduce((sum, file) => sum + file.lines.filter((line) => line.kind === kind).length, 0);
  return { added: count('right'), removed: count('left') };
}
