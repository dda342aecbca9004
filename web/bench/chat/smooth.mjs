// Frames of a conversation with a hundred tool calls while one more prints 10 MB/s, and of a page that only reads the
// same, in turns.
import { flood, framesBeside, noteFrames, notedFrames, readsOnly } from '../common.mjs';
import { CALLS, FLOOD_SECONDS } from './script.mjs';

const ROUNDS = 2;

export async function smooth({ conversation, ended, open, send, server }) {
  const id = await conversation();
  await send(id, 'many calls');
  await ended(id);
  const ours = { frames: [], long: [] };
  const floor = { frames: [], long: [] };
  const page = await open(`/chat/${id}`);
  await page
    .locator('[data-tool]')
    .nth(CALLS - 1)
    .waitFor();
  for (let round = 0; round < ROUNDS; round += 1) {
    await noteFrames(page);
    await send(id, 'a flood');
    const card = page.locator('[data-tool]').nth(CALLS + round);
    await card.locator('[data-phase=closed]').waitFor({ timeout: 120_000 });
    add(ours, await notedFrames(page));
    add(floor, await readsFlood(open, server));
  }
  framesBeside(`${CALLS} calls, 10 MB/s`, ours, floor, 'a page that only reads');
  await page.context().close();
}

async function readsFlood(open, server) {
  const page = await open('/healthz');
  const { id } = await server.api('POST', '/v1/executions', { language: 'python', code: flood(FLOOD_SECONDS) });
  await noteFrames(page);
  await readsOnly(page, id);
  await page.evaluate(() => window.isRead);
  const noted = await notedFrames(page);
  await page.context().close();
  return noted;
}

function add(all, { frames, long }) {
  all.frames.push(...frames);
  all.long.push(...long);
}
