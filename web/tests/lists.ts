// What the specs of lists share. One server serves all files of a worker, so earlier files leave things behind.
import type { TestServer } from './server.mjs';

/** Ends all sessions and removes all users. */
export async function cleanUp(server: TestServer): Promise<void> {
  const live = (await server.api('GET', '/v1/sessions?ended=false&limit=1000')) as { items: { id: string }[] };
  for (const { id } of live.items) await server.api('DELETE', `/v1/sessions/${id}`);
  const { items } = (await server.api('GET', '/v1/users?limit=1000')) as { items: { id: string }[] };
  for (const { id } of items) await server.api('DELETE', `/v1/users/${id}`);
}
