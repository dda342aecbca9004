// How sessions are called where people read them.

import type { Session } from 'headwater';
import { strings } from '$lib/strings/en';

/** The name of a session, or words in its place. */
export function nameOf(session: Pick<Session, 'name'>): string {
  return session.name?.trim() ? session.name : strings.sessions.unnamed;
}
