// The heap of a page whose conversation has commands that printed 100 MB, as it opens and after all of its cards were
// opened, beside a conversation with as many commands that printed a line.
import { beside, heapOf, print } from '../common.mjs';
import { LARGE_BYTES, LARGE_CALLS } from './script.mjs';

export async function heap(stage) {
  const small = await measured(stage, 'little output');
  const large = await measured(stage, 'much output');
  const name = `${(LARGE_CALLS * LARGE_BYTES) / 1e6} MB of output`;
  const what = 'with a line each';
  print(`${name}: the conversation as JSON`, `${large.kilobytes} KB; ${what}: ${small.kilobytes} KB`);
  beside(`${name}: opened in`, large.ms, small.ms, what);
  beside(`${name}: heap of the page`, large.opened, small.opened, what, 'MB');
  beside(`${name}: heap after all cards were opened`, large.after, small.after, what, 'MB');
}

async function measured({ conversation, ended, open, send }, text) {
  const id = await conversation();
  await send(id, text);
  const kilobytes = Math.round(JSON.stringify(await ended(id)).length / 1000);
  const page = await open('/chat');
  await page.getByLabel('Message', { exact: true }).waitFor();
  const begin = Date.now();
  await page.goto(`/chat/${id}`);
  const cards = page.locator('[data-tool]');
  await shown(cards.nth(LARGE_CALLS - 1));
  const ms = Date.now() - begin;
  const opened = await heapOf(page);
  for (let at = LARGE_CALLS - 1; at >= 0; at -= 1) {
    const card = cards.nth(at);
    const toggle = card.locator('button.toggle');
    await toggle.scrollIntoViewIfNeeded();
    if ((await toggle.getAttribute('aria-expanded')) === 'false') await toggle.click();
    await shown(card);
  }
  const after = await heapOf(page);
  await page.context().close();
  return { kilobytes, ms, opened, after };
}

/** Waits until a card has all of its output. */
async function shown(card) {
  await card.locator('[data-phase=closed]').waitFor({ timeout: 180_000 });
  await card.locator('[data-row]:not(.end) .text').first().waitFor();
}
