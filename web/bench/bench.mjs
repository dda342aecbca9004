// Measures the web app in a real browser against the real binary, and prints the figures beside their floors:
// time from a program's write to its glyph, long frames during 10 MB/s, heap after 100 MB, time to interactive, click on
// Run to first output. Needs `npm run build` and HEADWATER_BIN.
// `npm run bench -- latency stream heap load run` selects some of them.
import { chromium } from 'playwright-core';
import { TestServer } from '../tests/server.mjs';

const wanted = process.argv.slice(2);
const does = (name) => wanted.length === 0 || wanted.includes(name);
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
args.push('--disable-component-update', '--disable-sync', '--enable-precise-memory-info');

const server = await TestServer.create();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args });
const figures = [];
const print = (name, value) => {
  figures.push([name, value]);
  console.log(`${name.padEnd(52)} ${value}`);
};

try {
  if (does('latency')) await latency();
  if (does('stream')) await stream();
  if (does('heap')) await heap();
  if (does('load')) await load();
  if (does('run')) await run();
} finally {
  await browser.close();
  await server.close();
}

/** Prints a time, its floor and their ratio. */
function beside(name, ours, floor, what) {
  print(name, `${Math.round(ours)} ms; ${what}: ${Math.round(floor)} ms; ${(ours / floor).toFixed(2)}x`);
}

/** A page that is signed in. */
async function open(path) {
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.request.get(`${server.url}/login?token=${server.token}`, { maxRedirects: 0 });
  await page.goto(path);
  return page;
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

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
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
  for (const [name, share] of [
    ['median', 0.5],
    ['p95', 0.95],
  ]) {
    beside(`write to glyph, ${name}`, quantile(ours, share), quantile(bare, share), 'an empty page');
  }
  print('write to glyph, lines measured', `${ours.length}; ${bare.length} on the empty page`);
  await page.context().close();
  await floor.context().close();
}

/** Notes for each line `at TIME` when the frame that shows it has been drawn. */
async function noteGlyphs(page, root, rows) {
  await page.evaluate(
    ([rootSelector, rowSelector]) => {
      const seen = new Set();
      window.latencies = [];
      const look = () => {
        const now = Date.now();
        for (const element of document.querySelectorAll(rowSelector)) {
          const at = /^at (\d+)$/.exec(element.textContent ?? '')?.[1];
          if (!at || seen.has(at)) continue;
          seen.add(at);
          window.latencies.push(now - Number(at));
        }
      };
      // Whether the present microtask belongs to a frame callback, so that its change is drawn in that frame.
      let isInFrame = false;
      const request = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (callback) =>
        request((now) => {
          isInFrame = true;
          // The observer's microtask was queued before this one.
          queueMicrotask(() => queueMicrotask(() => (isInFrame = false)));
          callback(now);
        });
      // A task that a frame callback posts runs after the frame was drawn.
      const afterFrame = () => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = look;
        port2.postMessage(0);
      };
      const observed = { subtree: true, childList: true, characterData: true };
      new MutationObserver(() => (isInFrame ? afterFrame() : request(afterFrame))).observe(
        document.querySelector(rootSelector),
        observed,
      );
    },
    [root, rows],
  );
}

/** 10 MB/s for ten seconds. */
async function stream() {
  const { id } = await start(
    [
      'import sys,time',
      'line = b"the quick brown fox \\x1b[32mjumps\\x1b[0m over the lazy dog 0123456789 abcdefghijkl\\n"',
      'part = line * (100000 // len(line))',
      'begin = time.time(); sent = 0',
      'while sent < 100_000_000:',
      '  sys.stdout.buffer.write(part); sys.stdout.buffer.flush(); sent += len(part)',
      '  ahead = sent / 10_000_000 - (time.time() - begin)',
      '  if ahead > 0: time.sleep(ahead)',
      'sys.stderr.write("took %.1f" % (time.time() - begin))',
    ].join('\n'),
  );
  const page = await open(`/executions/${id}`);
  await page.getByRole('log').waitFor();
  await page.evaluate(() => {
    window.frames_ = [];
    window.long = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.long.push(Math.round(entry.duration));
    }).observe({ type: 'longtask' });
    let before = performance.now();
    const tick = (now) => {
      window.frames_.push(now - before);
      before = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  const begin = Date.now();
  await go(id);
  await complete(page);
  const { frames, long, lines } = await page.evaluate(() => ({
    frames: window.frames_,
    long: window.long,
    lines: document.querySelector('[role=log]')?.getAttribute('data-lines'),
  }));
  const { metrics } = await client.send('Performance.getMetrics');
  const metric = (name) => metrics.find((one) => one.name === name)?.value ?? 0;
  print('10 MB/s: frames', `${frames.length} in ${((Date.now() - begin) / 1000).toFixed(1)} s, ${lines} lines`);
  print(
    '10 MB/s: frames over 50 ms',
    `${frames.filter((ms) => ms > 50).length}, longest ${Math.round(Math.max(...frames))} ms`,
  );
  print(
    '10 MB/s: tasks of the page over 50 ms',
    `${long.length}${long.length > 0 ? `, longest ${Math.max(...long)} ms` : ''}`,
  );
  print(
    '10 MB/s: main thread busy',
    `${metric('TaskDuration').toFixed(1)} s of CPU (script ${metric('ScriptDuration').toFixed(1)}, layout ${metric('LayoutDuration').toFixed(1)}, style ${metric('RecalcStyleDuration').toFixed(1)})`,
  );
  await page.context().close();
}

/** The memory of the page with 100 MB behind it, and after scrolling through it. */
async function heap() {
  const { id } = await start(
    'import sys\nline = b"the quick brown fox jumps over the lazy dog 0123456789 abcdefghijkl %09d\\n"\nfor i in range(1250): sys.stdout.buffer.write(b"".join(line % (i * 1000 + j) for j in range(1000)))',
  );
  await go(id);
  await server.api('GET', `/v1/executions/${id}?wait=60s`);
  const page = await open('/history');
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.enable');
  const used = async () => {
    await client.send('HeapProfiler.collectGarbage');
    const { usedSize } = await client.send('Runtime.getHeapUsage');
    return usedSize / 1e6;
  };
  const before = await used();
  const begin = Date.now();
  await page.goto(`/executions/${id}`);
  await page.locator('[role=log][data-lines="1250000"]').waitFor({ timeout: 180_000 });
  print('100 MB: loaded in', `${((Date.now() - begin) / 1000).toFixed(1)} s`);
  print('100 MB: heap of the page', `${(await used()).toFixed(0)} MB (without: ${before.toFixed(0)} MB)`);
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
  print('100 MB: heap after jumping about', `${(await used()).toFixed(0)} MB`);
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
