// How sessions are called where people read them.

import type { Session } from 'headwater';
import { strings } from '$lib/strings/en';

/** The server calls the session of a conversation after its id. */
const OF_CONVERSATION = /^conversation:cnv_(\w{8})/;

/** The name of a session, or words in its place. */
export function nameOf({ name }: Pick<Session, 'name'>): string {
  if (!name?.trim()) return strings.sessions.unnamed;
  const conversation = OF_CONVERSATION.exec(name)?.[1];
  return conversation ? strings.sessions.ofConversation(conversation) : name;
}
