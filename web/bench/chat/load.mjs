// From the navigation to a chat in which a person can write, in a browser that has nothing cached, beside an empty page.
import { beside, print, quantile } from '../common.mjs';

const ROUNDS = 7;

export async function load({ open }) {
  const [ours, bare] = [[], []];
  let bytes = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const page = await open('/chat');
    await page.getByLabel('Message', { exact: true }).waitFor();
    const measured = await page.evaluate(() => {
      const scripts = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'));
      return { at: performance.now(), bytes: scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) };
    });
    bytes = measured.bytes;
    ours.push(measured.at);
    await page.context().close();
    const empty = await open('/healthz');
    bare.push(await empty.evaluate(() => performance.now()));
    await empty.context().close();
  }
  beside('chat: time to interactive, median', quantile(ours, 0.5), quantile(bare, 0.5), 'an empty page');
  print('chat: JavaScript until then, parts loaded later too', `${(bytes / 1000).toFixed(0)} KB`);
}
