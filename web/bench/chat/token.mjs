// From the moment in which the model writes a token until the page shows it. The floor is a page that asks the same
// model itself, and sets the text of an element to what it has read.
import { noteGlyphs, pause, spreadBeside } from '../common.mjs';
import { TOKENS } from './script.mjs';

const ROUNDS = 10;

export async function token({ conversation, model, open, send }) {
  const id = await conversation();
  const page = await open(`/chat/${id}`);
  await page.getByLabel('Message', { exact: true }).waitFor();
  await noteGlyphs(page, '#app', 'article.assistant.last');
  const floor = await open('/healthz');
  // A page of the model's own origin.
  await floor.goto(`${model.url}/v1/models`);
  await floor.evaluate(() => (document.body.innerHTML = '<p></p>'));
  await noteGlyphs(floor, 'body', 'p');
  const [ours, bare] = [[], []];
  // The first answer also loads what the page loads late.
  for (let round = 0; round <= ROUNDS; round += 1) {
    await send(id, 'tokens');
    const shown = await taken(page);
    await floor.evaluate(askModel);
    const read = await taken(floor);
    if (round === 0) continue;
    ours.push(...shown);
    bare.push(...read);
  }
  spreadBeside('token to page', ours, bare, 'a page that asks the model itself');
  await page.context().close();
  await floor.context().close();
}

/** The latencies of one answer, as soon as there are all. */
async function taken(page) {
  await page.waitForFunction((count) => window.latencies.length >= count, TOKENS, { polling: 100 });
  // The end of the turn does not belong to the next round.
  await pause(300);
  return page.evaluate(() => window.latencies.splice(0));
}

/** Runs in the page: what the simplest client of a model does. */
async function askModel() {
  const body = { model: 'scripted', stream: true, messages: [{ role: 'user', content: 'tokens' }] };
  const headers = { 'content-type': 'application/json' };
  const response = await fetch('/v1/chat/completions', { method: 'POST', headers, body: JSON.stringify(body) });
  const shown = document.querySelector('p');
  const decoder = new TextDecoder();
  let [text, rest] = ['', ''];
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      if (event.startsWith('data: {')) text += JSON.parse(event.slice(6)).choices?.[0]?.delta?.content ?? '';
    }
    shown.textContent = text;
  }
}
