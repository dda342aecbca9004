// Replaces in many files: each is read, changed and written only if it is still what was read.
import { ApiError } from 'headwater';
import { decode, encode } from './content';
import type { Ide } from './ide.svelte';
import { replaceAll, type SearchOptions } from './search';

export interface Replaced {
  count: number;
  changed: string[];
  /** Files that changed meanwhile, have unsaved text in conflict, or are not text. */
  skipped: string[];
  undo: () => Promise<void>;
}

/** Replaces all matches in the files. Open files change in the editor, and are saved. */
export async function replaceInFiles(
  ide: Ide,
  paths: readonly string[],
  options: SearchOptions,
  replacement: string,
): Promise<Replaced> {
  const before = new Map<string, { text: string; bom: boolean; etag: string }>();
  const result: Replaced = { count: 0, changed: [], skipped: [], undo: () => restore(ide, before) };
  for (const path of paths) {
    const document = ide.documents.get(path);
    if (document?.conflict || document?.isDirty) {
      result.skipped.push(path);
      continue;
    }
    try {
      const { bytes, etag } = await ide.files.read(path);
      const content = decode(bytes);
      if (content.kind === 'binary') continue;
      const { text, count } = replaceAll(content.text, options, replacement);
      if (count === 0 || text === content.text) continue;
      const file = await ide.files.write(path, encode(text, content.bom), etag);
      before.set(path, { text: content.text, bom: content.bom, etag: file.etag });
      result.count += count;
      result.changed.push(path);
      void ide.documents.refresh(path);
    } catch (error) {
      if (!(error instanceof ApiError) || ![404, 409, 412].includes(error.status)) throw error;
      result.skipped.push(path);
    }
  }
  return result;
}

async function restore(ide: Ide, before: Map<string, { text: string; bom: boolean; etag: string }>): Promise<void> {
  for (const [path, { text, bom, etag }] of before) {
    await ide.files.write(path, encode(text, bom), etag);
    void ide.documents.refresh(path);
  }
}
