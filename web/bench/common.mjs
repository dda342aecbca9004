// What the benchmarks of the web app share: servers and pages, the time at which something is drawn, frames, and figures
// beside their floors.
import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
FLAGS.push('--disable-component-update', '--disable-sync', '--enable-precise-memory-info');

/** Runs the parts with these names, or all. A part that fails is reported, and the others still run. */
export async function runParts(parts, names) {
  const unknown = names.filter((name) => !Object.hasOwn(parts, name));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`);
  for (const [name, part] of Object.entries(parts)) {
    if (names.length > 0 && !names.includes(name)) continue;
    try {
      await part();
    } catch (error) {
      console.log(`${name}: not measured: ${error.stack ?? error}`);
      process.exitCode = 1;
    }
  }
}

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** A page that is signed in. */
export async function openPage(browser, server, path) {
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.request.get(`${server.url}/login?token=${server.token}`, { maxRedirects: 0 });
  await page.goto(path);
  return page;
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

export function print(name, value) {
  console.log(`${name.padEnd(52)} ${value}`);
}

/** Prints a figure, its floor and their ratio. */
export function beside(name, ours, floor, what, unit = 'ms') {
  const text = (value) => (value < 10 ? value.toFixed(1) : Math.round(value));
  print(name, `${text(ours)} ${unit}; ${what}: ${text(floor)} ${unit}; ${(ours / floor).toFixed(2)}x`);
}

/** Prints median and 95th percentile of latencies beside those of a floor. */
export function spreadBeside(name, ours, floor, what) {
  beside(`${name}, median`, quantile(ours, 0.5), quantile(floor, 0.5), what);
  beside(`${name}, p95`, quantile(ours, 0.95), quantile(floor, 0.95), what);
  print(`${name}, measured`, `${ours.length} times; ${floor.length} times: ${what}`);
}

/**
 * Notes for each time (milliseconds since 1970) in a text of `rows` when the frame that shows it has been drawn, in
 * `window.latencies`.
 */
export async function noteGlyphs(page, root, rows) {
  await page.evaluate(
    ([rootSelector, rowSelector]) => {
      const seen = new Set();
      window.latencies = [];
      const look = () => {
        const now = Date.now();
        for (const element of document.querySelectorAll(rowSelector)) {
          for (const [at] of (element.textContent ?? '').matchAll(/\d{13}/g)) {
            if (seen.has(at)) continue;
            seen.add(at);
            window.latencies.push(now - Number(at));
          }
        }
      };
      // Whether the present microtask belongs to a frame callback, so that its change is drawn in that frame.
      let isInFrame = false;
      // The callback may change a state; a microtask then changes the page, and a later one tells the observer.
      const leave = (microtasks) =>
        queueMicrotask(() => (microtasks > 0 ? leave(microtasks - 1) : (isInFrame = false)));
      const request = window.requestAnimationFrame.bind(window);
      window.requestAnimationFrame = (callback) =>
        request((now) => {
          isInFrame = true;
          leave(8);
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

/** Notes how long frames and tasks of the page take from now on. */
export async function noteFrames(page) {
  await page.evaluate(() => {
    const isNoting = window.frames_ !== undefined;
    window.frames_ = [];
    window.long = [];
    if (isNoting) return;
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
}

/** The frames and long tasks since `noteFrames`. */
export function notedFrames(page) {
  return page.evaluate(() => ({ frames: window.frames_, long: window.long }));
}

/** Prints how many frames and tasks were long, beside a floor. */
export function framesBeside(name, ours, floor, what) {
  const over = ({ frames }) => frames.filter((ms) => ms > 50).length;
  const most = (values) => Math.round(Math.max(0, ...values));
  const frames = (one) => `${over(one)} of ${one.frames.length}, longest ${most(one.frames)} ms`;
  const tasks = ({ long }) => (long.length > 0 ? `${long.length}, longest ${most(long)} ms` : '0');
  print(`${name}: frames over 50 ms`, `${frames(ours)}; ${what}: ${frames(floor)}`);
  print(`${name}: tasks of the page over 50 ms`, `${tasks(ours)}; ${what}: ${tasks(floor)}`);
}

/** A program (Python) that prints 10 MB/s for some seconds. */
export const flood = (seconds) =>
  [
    'import sys,time',
    'line = b"the quick brown fox \\x1b[32mjumps\\x1b[0m over the lazy dog 0123456789 abcdefghijkl\\n"',
    'part = line * (100000 // len(line))',
    'begin = time.time(); sent = 0',
    `while sent < ${seconds * 10_000_000}:`,
    '  sys.stdout.buffer.write(part); sys.stdout.buffer.flush(); sent += len(part)',
    '  ahead = sent / 10_000_000 - (time.time() - begin)',
    '  if ahead > 0: time.sleep(ahead)',
    'sys.stderr.write("took %.1f" % (time.time() - begin))',
  ].join('\n');

/** Makes a page the simplest reader of an execution: it reads all bytes of the stream, and shows how many there were. */
export async function readsOnly(page, execution) {
  await page.evaluate((id) => {
    document.body.innerHTML = '<main><p></p></main>';
    const shown = document.querySelector('p');
    window.isRead = (async () => {
      const query = 'batch_ms=8&batch_bytes=65536';
      const headers = { accept: 'text/event-stream' };
      const { body } = await fetch(`/v1/executions/${id}/events?${query}`, { headers });
      let bytes = 0;
      for (const reader = body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) break;
        bytes += value.length;
        shown.textContent = String(bytes);
      }
      return bytes;
    })();
  }, execution);
}

/** What the page's JavaScript keeps in memory, in megabytes. */
export async function heapOf(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.enable');
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  await client.detach();
  return usedSize / 1e6;
}
