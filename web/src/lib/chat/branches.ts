// The tree of messages: the branch that is shown, and its alternatives.
import { added } from './fold';
import type { Message, ModelUsage } from './types';

/** The messages from the first one to `leaf`. */
export function branchTo(messages: readonly Message[], leaf: string | null): Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const branch: Message[] = [];
  // A parent is added before its children, so that this ends.
  for (let next = leaf === null ? undefined : byId.get(leaf); next; next = byId.get(next.parent_id ?? '')) {
    branch.push(next);
    byId.delete(next.id);
  }
  return branch.reverse();
}

export interface Alternatives {
  /** The place of the message among them, from 0. */
  at: number;
  ids: readonly string[];
}

/** For each message that has any: all messages that follow the same one. */
export function alternatives(messages: readonly Message[]): Map<string, Alternatives> {
  const children = new Map<string, string[]>();
  for (const { id, parent_id, role } of messages) {
    const key = `${role} ${parent_id ?? ''}`;
    const known = children.get(key);
    if (known) known.push(id);
    else children.set(key, [id]);
  }
  const found = new Map<string, Alternatives>();
  for (const ids of children.values()) {
    if (ids.length > 1) ids.forEach((id, at) => found.set(id, { at, ids }));
  }
  return found;
}

/** What the model used for some messages. */
export function totalUsage(messages: readonly Message[]): ModelUsage | null {
  let total: ModelUsage | null = null;
  for (const { usage } of messages) if (usage) total = added(total, usage);
  return total;
}

/** The text of a message, for the clipboard and for editing. */
export function textOf(message: Message): string {
  return (message.parts ?? [])
    .map((part) => (part.type === 'text' ? part.text : ''))
    .filter(Boolean)
    .join('\n\n');
}
