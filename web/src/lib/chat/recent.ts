// The tool calls whose cards are open at first: the last few, so that long conversations stay cheap.
import type { Message } from './types';

const OPEN = 4;

export function recentCalls(branch: readonly Message[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at = branch.length - 1; at >= 0 && found.size < OPEN; at -= 1) {
    const parts = branch[at]?.parts ?? [];
    for (let index = parts.length - 1; index >= 0 && found.size < OPEN; index -= 1) {
      const part = parts[index];
      if (part?.type === 'tool_call') found.add(part.tool_call_id);
    }
  }
  return found;
}
