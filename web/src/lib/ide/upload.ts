// Uploads: reads what was dropped or chosen, folders included, and writes it to the workspace.
import { ApiError, type Headwater } from 'headwater';
import { join, normalise } from './paths';

export interface Upload {
  /** The path below the folder that it was dropped on. */
  path: string;
  file: File;
}

/** Files at once: more make the server wait for itself, because changes of one session are serialised. */
const PARALLEL = 3;

/** Reads what was dropped. The items have to be taken before the first `await`: the browser empties the list. */
export async function readDrop(data: DataTransfer): Promise<Upload[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return [...data.files].map((file) => ({ path: file.name, file }));
  const uploads: Upload[] = [];
  for (const entry of entries) await readEntry(entry, '', uploads);
  return uploads;
}

async function readEntry(entry: FileSystemEntry, folder: string, into: Upload[]): Promise<void> {
  const path = join(folder, entry.name);
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => {
      (entry as FileSystemFileEntry).file(resolve, reject);
    });
    into.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // The browser returns a hundred entries at a time, and an empty list at the end.
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return;
    for (const child of batch) await readEntry(child, path, into);
  }
}

/** Reads what was chosen in a file dialog. A folder's files have their path in it. */
export function readChosen(list: FileList): Upload[] {
  return [...list].map((file) => ({ path: normalise(file.webkitRelativePath || file.name), file }));
}

export interface UploadResult {
  done: number;
  /** Files that exist already, and were left as they are. */
  existing: Upload[];
  failed: { upload: Upload; error: unknown }[];
}

export interface UploadOptions {
  replace: boolean;
  signal: AbortSignal;
  onprogress: (done: number) => void;
}

/** Writes the files below a folder. Existing files are left alone unless `replace` is set. */
export async function uploadAll(
  client: Headwater,
  session: string,
  folder: string,
  uploads: readonly Upload[],
  { replace, signal, onprogress }: UploadOptions,
): Promise<UploadResult> {
  const result: UploadResult = { done: 0, existing: [], failed: [] };
  const waiting = [...uploads];
  const work = async (): Promise<void> => {
    for (let upload = waiting.shift(); upload !== undefined && !signal.aborted; upload = waiting.shift()) {
      try {
        await client.files.write(session, join(folder, upload.path), upload.file, { create: !replace, signal });
        result.done += 1;
        onprogress(result.done);
      } catch (error) {
        if (signal.aborted) return;
        if (!replace && error instanceof ApiError && error.status === 409) result.existing.push(upload);
        else result.failed.push({ upload, error });
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return result;
}
