// Measures the time from a key to its glyph in the terminal, in a real browser against the real binary, beside ttyd; where
// ttyd is not installed, beside terminado (`pip install terminado`; PYTHON names the interpreter that has it).
// Needs `npm run build` and HEADWATER_BIN. All draw with elements, so that the page itself can see the glyph.
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { TestServer } from '../tests/server.mjs';

const KEYS = Number(process.env.KEYS ?? 300);
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
args.push('--disable-component-update', '--disable-sync');

const server = await TestServer.create();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args });
try {
  const ours = await openOurs();
  const peer = await openPeer();
  // In turns, so that what else runs on the machine disturbs both alike.
  const [a, b] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    a.push(...(await type(ours, KEYS / 3)));
    if (peer) b.push(...(await type(peer.page, KEYS / 3)));
  }
  print('Headwater', a);
  if (peer) print(peer.name, b);
  else console.log('neither ttyd nor terminado is installed: nothing to compare with');
  peer?.child.kill();
} finally {
  await browser.close();
  await server.close();
}

function print(name, values) {
  const sorted = values.sort((one, other) => one - other);
  const at = (share) => `${sorted[Math.floor(sorted.length * share)].toFixed(1)} ms`;
  console.log(`key to glyph, ${name}:`.padEnd(40), `median ${at(0.5)}, p95 ${at(0.95)}, of ${sorted.length} keys`);
}

async function openOurs() {
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1200, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(() => localStorage.setItem('headwater.terminal', '{"renderer":"dom"}'));
  await page.request.get(`${server.url}/login?token=${server.token}`, { maxRedirects: 0 });
  const { id } = await server.api('POST', '/v1/sessions', {});
  await page.goto(`/sessions/${id}/terminals/main`);
  await page.locator('[role="status"][data-state="connected"]').waitFor();
  return prepared(page);
}

/** The page of ttyd or of terminado; null if neither is installed. */
async function openPeer() {
  const command = peerCommand();
  if (!command) return null;
  const child = spawn(command.file, command.args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const url = await new Promise((found, failed) => {
    let text = '';
    const read = (chunk) => {
      text += chunk;
      const match = command.address.exec(text);
      if (match) found(match[1].startsWith('http') ? match[1] : `http://127.0.0.1:${match[1]}/`);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', () => failed(new Error(`${command.file} ended:\n${text}`)));
  });
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
  await page.goto(url);
  return { name: command.name, page: await prepared(page), child };
}

function peerCommand() {
  if (spawnSync('ttyd', ['--version']).status === 0) {
    const options = ['-i', '127.0.0.1', '-p', '0', '-W', '-t', 'rendererType=dom', 'bash', '--norc'];
    return { name: 'ttyd', file: 'ttyd', args: options, address: /port: (\d+)/ };
  }
  const python = process.env.PYTHON ?? 'python3';
  if (spawnSync(python, ['-c', 'import terminado']).status !== 0) return null;
  const script = fileURLToPath(new URL('terminal.peer.py', import.meta.url));
  const xterm = fileURLToPath(new URL('../node_modules/@xterm/xterm', import.meta.url));
  return { name: 'terminado', file: python, args: [script, xterm], address: /(http:\S+)/ };
}

/** Notes when a key goes down, and when the frame that shows its letter has been drawn. */
async function prepared(page) {
  await page.locator('.xterm-rows').waitFor();
  await page.waitForFunction(() => /[$#]/.test(document.querySelector('.xterm-rows').textContent));
  await page.locator('.xterm-helper-textarea').focus();
  await page.evaluate(() => {
    const rows = document.querySelector('.xterm-rows');
    const state = { typed: '', at: 0, done: null };
    window.measured = state;
    addEventListener(
      'keydown',
      (event) => event.key.length === 1 && !event.ctrlKey && (state.at = performance.now()),
      true,
    );
    const look = () => {
      if (!state.done || !rows.textContent.replaceAll('\u00a0', ' ').includes(state.typed)) return;
      const { done } = state;
      state.done = null;
      // A message comes after the frame.
      const channel = new MessageChannel();
      channel.port1.onmessage = () => done(performance.now() - state.at);
      channel.port2.postMessage(0);
    };
    new MutationObserver(look).observe(rows, { subtree: true, childList: true, characterData: true });
  });
  return page;
}

async function type(page, keys) {
  const latencies = [];
  await page.bringToFront();
  let line = '';
  for (let key = 0; key < keys; key += 1) {
    if (line.length === 40) {
      await page.keyboard.press('Control+u');
      await page.waitForFunction((old) => !document.querySelector('.xterm-rows').textContent.includes(old), line);
      line = '';
    }
    const letter = String.fromCharCode(97 + (key % 26));
    line += letter;
    const drawn = page.evaluateHandle((typed) => {
      const { measured } = window;
      measured.typed = typed;
      return { promise: new Promise((done) => (measured.done = done)) };
    }, line);
    const handle = await drawn;
    await page.keyboard.press(letter);
    latencies.push(await handle.evaluate(({ promise }) => promise));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await page.keyboard.press('Control+u');
  await page.waitForFunction((old) => !document.querySelector('.xterm-rows').textContent.includes(old), line);
  return latencies;
}
