// Loads the recording of an execution.

import { client } from '$lib/app/client';
import { parseCast } from './asciicast';
import type { Recording } from './asciicast';

/** More than this of a recording is not read: it is kept in memory and drawn again to go back. */
export const MAX_RECORDING_BYTES = 32 * 1024 * 1024;

export function recordingPath(executionId: string): string {
  return `/v1/executions/${encodeURIComponent(executionId)}/recording`;
}

/** The recording, up to the limit; `isCut` says whether there was more. */
export async function loadRecording(
  executionId: string,
  signal: AbortSignal,
): Promise<{ recording: Recording; isCut: boolean }> {
  const response = await client.raw('GET', recordingPath(executionId), { signal });
  const decoder = new TextDecoder();
  let [text, size] = ['', 0];
  const reader = response.body?.getReader();
  while (reader !== undefined && size < MAX_RECORDING_BYTES) {
    const { done, value } = await reader.read();
    if (done) return { recording: parseCast(text), isCut: false };
    size += value.length;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return { recording: parseCast(text), isCut: true };
}
