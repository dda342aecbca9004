// Measures the web app in a real browser against the real binary, and prints the figures beside their floors:
// time from a program's write to its glyph, long frames during 10 MB/s, heap after 100 MB, time to interactive, click on
// Run to first output. Needs `npm run build` and HEADWATER_BIN.
// `node bench/bench.mjs latency stream heap load run` selects some of them.
import {
  beside,
  flood,
  framesBeside,
  heapOf,
  launch,
  noteFrames,
  notedFrames,
  noteGlyphs,
  openPage,
  print,
  quantile,
  readsOnly,
  runParts,
  spreadBeside,
} from './common.mjs';
import { TestServer } from '../tests/server.mjs';

const server = await TestServer.create();
const browser = await launch();
const open = (path) => openPage(browser, server, path);
try {
  await runParts({ latency, stream, heap, load, run }, process.argv.slice(2));
} finally {
  await browser.close();
  await server.close();
}

/** Starts a program that waits for `go`, so that the page is ready when it begins. */
function start(code) {
  return server.api('POST', '/v1/executions', { language: 'python', code: `input()\n${code}`, stdin: 'open' });
}

async function go(id) {
  const headers = { authorization: `Bearer ${server.token}` };
  await fetch(`${server.direct}/v1/executions/${id}/stdin?eof=true`, { method: 'POST', headers, body: '\n' });
}

/** Waits until the page has all events. */
async function complete(page) {
  await page.locator('[role=log][data-phase=closed]').waitFor({ timeout: 180_000 });
}

/**
 * A program prints the time; two pages note when the frame with that text has been drawn: ours, and an empty page that
 * appends what its EventSource receives. Both watch the same execution at the same time.
 */
async function latency() {
  const { id } = await start(
    'import time\nfor i in range(200):\n  print("at", int(time.time()*1000), flush=True)\n  time.sleep(0.05)\ntime.sleep(1)',
  );
  const page = await open(`/executions/${id}`);
  await page.getByRole('log').waitFor();
  await noteGlyphs(page, '[role=log]', '[data-row] .text');
  const floor = await open('/healthz');
  await floor.evaluate((execution) => {
    document.body.innerHTML = '<main></main>';
    const source = new EventSource(`/v1/executions/${execution}/events?batch_ms=0`);
    source.addEventListener('stdout', ({ data }) => {
      const line = document.createElement('p');
      line.textContent = JSON.parse(data).text.trim();
      document.querySelector('main').append(line);
    });
    return new Promise((opened) => (source.onopen = opened));
  }, id);
  await noteGlyphs(floor, 'main', 'p');
  await go(id);
  await complete(page);
  const ours = await page.evaluate(() => window.latencies);
  const bare = await floor.evaluate(() => window.latencies);
  spreadBeside('write to glyph', ours, bare, 'an empty page');
  await page.context().close();
  await floor.context().close();
}

/** 10 MB/s for ten seconds, then the same to a page that only reads it. */
async function stream() {
  const { id } = await start(flood(10));
  const page = await open(`/executions/${id}`);
  await page.getByRole('log').waitFor();
  await noteFrames(page);
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  const begin = Date.now();
  await go(id);
  await complete(page);
  const took = (Date.now() - begin) / 1000;
  const ours = await notedFrames(page);
  const lines = await page.getByRole('log').getAttribute('data-lines');
  const { metrics } = await client.send('Performance.getMetrics');
  const metric = (name) => metrics.find((one) => one.name === name)?.value ?? 0;
  await page.context().close();
  const floor = await streamToReader();
  print('10 MB/s: frames', `${ours.frames.length} in ${took.toFixed(1)} s, ${lines} lines`);
  framesBeside('10 MB/s', ours, floor, 'a page that only reads');
  print(
    '10 MB/s: main thread busy',
    `${metric('TaskDuration').toFixed(1)} s of CPU (script ${metric('ScriptDuration').toFixed(1)}, layout ${metric('LayoutDuration').toFixed(1)}, style ${metric('RecalcStyleDuration').toFixed(1)})`,
  );
}

async function streamToReader() {
  const { id } = await start(flood(10));
  const page = await open('/healthz');
  await readsOnly(page, id);
  await noteFrames(page);
  await go(id);
  await page.evaluate(() => window.isRead);
  const noted = await notedFrames(page);
  await page.context().close();
  return noted;
}

/** The memory of the page with 100 MB behind it, and after scrolling through it. */
async function heap() {
  const { id } = await start(
    'import sys\nline = b"the quick brown fox jumps over the lazy dog 0123456789 abcdefghijkl %09d\\n"\nfor i in range(1250): sys.stdout.buffer.write(b"".join(line % (i * 1000 + j) for j in range(1000)))',
  );
  await go(id);
  await server.api('GET', `/v1/executions/${id}?wait=60s`);
  const page = await open('/history');
  const before = await heapOf(page);
  const begin = Date.now();
  await page.goto(`/executions/${id}`);
  await page.locator('[role=log][data-lines="1250000"]').waitFor({ timeout: 180_000 });
  print('100 MB: loaded in', `${((Date.now() - begin) / 1000).toFixed(1)} s`);
  beside('100 MB: heap of the page', await heapOf(page), before, 'without', 'MB');
  const scroll = async (share) => {
    const from = Date.now();
    await page.evaluate((value) => {
      const log = document.querySelector('[role=log]');
      log.scrollTop = value * log.scrollHeight;
    }, share);
    const row = page.locator('[data-row].stdout .text').filter({ hasText: 'the quick brown fox' });
    await page.waitForFunction(() => !document.querySelector('.row.loading') && document.querySelector('.row.stdout'));
    await row.first().waitFor();
    return Date.now() - from;
  };
  const times = [];
  for (const share of [0, 0.5, 0.1, 0.9, 0.3, 0.7, 0.01, 0.6]) times.push(await scroll(share));
  print('100 MB: jump to a dropped part, median', `${quantile(times, 0.5)} ms, longest ${Math.max(...times)} ms`);
  beside('100 MB: heap after jumping about', await heapOf(page), before, 'without', 'MB');
  await page.context().close();
}

/** From the navigation to a start page whose Run works, in a browser that has nothing cached, beside an empty page. */
async function load() {
  const [ours, bare] = [[], []];
  let bytes = 0;
  for (let round = 0; round < 7; round += 1) {
    const page = await open('/');
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    const measured = await page.evaluate(() => ({
      at: performance.now(),
      size: performance
        .getEntriesByType('resource')
        .filter(({ name }) => name.endsWith('.js'))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    }));
    bytes = measured.size;
    ours.push(measured.at);
    await page.context().close();
    const empty = await open('/healthz');
    bare.push(await empty.evaluate(() => performance.now()));
    await empty.context().close();
  }
  beside('time to interactive, nothing cached, median', quantile(ours, 0.5), quantile(bare, 0.5), 'an empty page');
  print('JavaScript of the first load, as it was sent', `${(bytes / 1000).toFixed(0)} KB`);
}

/** From the click on Run on the start page to the first output, beside the same by the API alone. */
async function run() {
  const page = await open('/');
  const [ours, bare] = [[], []];
  for (let round = 0; round < 7; round += 1) {
    await page.goto('/');
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    await page.waitForTimeout(500);
    ours.push(await page.evaluate(clickRun));
    bare.push(await runByApi(await page.getByLabel('Code').inputValue()));
  }
  beside('click on Run to first output, median', quantile(ours, 0.5), quantile(bare, 0.5), 'by the API');
  await page.context().close();
}

/** Runs in the page. */
async function clickRun() {
  const button = [...document.querySelectorAll('button')].find((one) => /^\s*Run/.test(one.textContent ?? ''));
  const begin = performance.now();
  button.click();
  while (!document.querySelector('[data-row].stdout, [data-row].output')) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    if (performance.now() - begin > 30_000) return NaN;
  }
  return performance.now() - begin;
}

async function runByApi(code) {
  const headers = { authorization: `Bearer ${server.token}`, accept: 'text/event-stream' };
  const begin = performance.now();
  const { id } = await server.api('POST', '/v1/executions', { language: 'python', code });
  const { body } = await fetch(`${server.direct}/v1/executions/${id}/events?batch_ms=0`, { headers });
  let text = '';
  for await (const part of body) {
    text += new TextDecoder().decode(part);
    if (text.includes('event: stdout')) break;
  }
  return performance.now() - begin;
}
