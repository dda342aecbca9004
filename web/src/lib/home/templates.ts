// Sessions from templates of the server.
import { ApiError, type Session, type Template } from 'headwater';
import { client } from '../app/client';

/** How many names are tried. */
const MAX_NAMES = 20;

/** Creates a session named after its template: `Python`, or `Python 2` if that name is in use. */
export async function createFrom(template: Template): Promise<Session> {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? template.title : `${template.title} ${number}`;
    try {
      return await client.sessions.create({ name, template: template.name });
    } catch (error) {
      const isTaken = error instanceof ApiError && error.code === 'name_taken';
      if (!isTaken || number === MAX_NAMES) throw error;
    }
  }
}

/** The address of a session with the first file of its template open. */
export function addressOf(session: Session, template: Template | undefined): string {
  const file = template?.open ? `?file=${encodeURIComponent(template.open)}` : '';
  return `/sessions/${session.id}${file}`;
}
