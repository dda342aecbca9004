// Compares two executions: reads a bounded part of both outputs and leaves the comparison to a worker.

import type { Execution, Headwater } from 'headwater';
import type { Diff } from './diff';
import type { DiffReply, DiffRequest } from './diff.worker';
import DiffWorker from './diff.worker?worker';
import { printedBytes } from './words';

/** The bytes of each output that are compared. */
export const MAX_BYTES = 1024 * 1024;

/** The beginning of an output as text. */
async function readOutput(client: Headwater, execution: Execution, signal: AbortSignal): Promise<string> {
  if (printedBytes(execution) === 0) return '';
  const stopped = new AbortController();
  const response = await client.executions.output(
    execution.id,
    {},
    { signal: AbortSignal.any([signal, stopped.signal]) },
  );
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  while (reader && length < MAX_BYTES) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    text += decoder.decode(value, { stream: true });
  }
  stopped.abort();
  return text.slice(0, MAX_BYTES);
}

/** The difference of two outputs. The worker ends with the signal. */
export async function compareOutputs(
  client: Headwater,
  left: Execution,
  right: Execution,
  signal: AbortSignal,
): Promise<Diff> {
  const [leftText, rightText] = await Promise.all([
    readOutput(client, left, signal),
    readOutput(client, right, signal),
  ]);
  signal.throwIfAborted();
  const worker = new DiffWorker();
  try {
    return await new Promise<Diff>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      worker.onmessage = (message: MessageEvent<DiffReply>) => resolve(message.data);
      worker.onerror = (event) => reject(new Error(event.message));
      const request: DiffRequest = { left: leftText, right: rightText };
      worker.postMessage(request);
    });
  } finally {
    worker.terminate();
  }
}
