// Saving output as a file. Browsers keep large blobs on the disk.
import type { Execution } from './Execution.svelte';

/** Saves the bytes of the output. By request and not by link, because a share link needs its header. */
export async function downloadOutput(execution: Execution, stream: 'merged' | 'stdout' | 'stderr'): Promise<void> {
  const suffix = stream === 'merged' ? '' : `.${stream}`;
  const name = `${execution.id}${suffix}.${execution.binary ? 'bin' : 'txt'}`;
  const response = await execution.client.executions.output(execution.id, stream === 'merged' ? {} : { stream });
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the address after this function.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
