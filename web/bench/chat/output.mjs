// From the first output of a command, which is the time, until its card shows it. Each round is a new command, whose card
// has to be made. The floor is a page that follows the same kind of conversation with two `EventSource`s, and sets the
// text of an element.
import { noteGlyphs, pause, spreadBeside } from '../common.mjs';

const ROUNDS = 40;
const WARM_UP = 3;

export async function output({ conversation, open, send }) {
  const [id, other] = [await conversation(), await conversation()];
  const page = await open(`/chat/${id}`);
  await page.getByLabel('Message', { exact: true }).waitFor();
  await noteGlyphs(page, '#app', '[data-tool] [data-row] .text');
  const floor = await open('/healthz');
  await floor.evaluate(followConversation, other);
  await noteGlyphs(floor, 'main', 'p');
  const [ours, bare] = [[], []];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    await send(id, 'first output');
    const shown = await taken(page);
    await send(other, 'first output');
    const read = await taken(floor);
    if (round < WARM_UP) continue;
    ours.push(...shown);
    bare.push(...read);
  }
  spreadBeside('first output to glyph', ours, bare, 'a page with two EventSources');
  await page.context().close();
  await floor.context().close();
}

async function taken(page) {
  await page.waitForFunction(() => window.latencies.length > 0, null, { polling: 50 });
  // The end of the turn does not belong to the next round.
  await pause(400);
  return page.evaluate(() => window.latencies.splice(0));
}

/** Runs in the page. */
function followConversation(id) {
  document.body.innerHTML = '<main></main>';
  const main = document.querySelector('main');
  const show = ({ execution_id: execution }) => {
    const source = new EventSource(`/v1/executions/${execution}/events?batch_ms=0`);
    source.addEventListener('stdout', ({ data }) => {
      const line = document.createElement('p');
      line.textContent = JSON.parse(data).text;
      main.append(line);
    });
    source.addEventListener('closed', () => source.close());
  };
  const log = new EventSource(`/v1/conversations/${id}/log`);
  log.addEventListener('entry', ({ data }) => {
    const entry = JSON.parse(data);
    if (entry.type === 'tool_call_running' && entry.execution_id) show(entry);
  });
  return new Promise((opened) => (log.onopen = opened));
}
