// Records the IDE: a program is written and run, its output arrives, a web server is started and previewed. Writes the
// frames and their times into a folder (the argument); scripts/record-ide.sh makes one picture of them.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { TestServer } from '../tests/server.mjs';

const folder = process.argv[2];
if (!folder) throw new Error('Name the folder of the frames.');
const SIZE = { width: 1200, height: 750 };
const CODE = `import time

for step in range(1, 6):
    print(f"step {step} of 5", flush=True)
    time.sleep(0.4)
`;

/** Keeps the frames that the browser draws, with their times in seconds. */
async function record(page, frames) {
  const devtools = await page.context().newCDPSession(page);
  devtools.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    frames.push({ at: metadata.timestamp, data: Buffer.from(data, 'base64') });
    void devtools.send('Page.screencastFrameAck', { sessionId });
  });
  await devtools.send('Page.startScreencast', { format: 'png', everyNthFrame: 4 });
  return () => devtools.send('Page.stopScreencast');
}

async function play(page, server, session) {
  const pause = (ms) => page.waitForTimeout(ms);
  await page.goto(`${server.url}/sessions/${session}?file=main.py`);
  await page.locator('.monaco-editor[role=code]').first().waitFor();
  await pause(800);
  await page.locator('.monaco-editor .view-lines').first().click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type("print('done')", { delay: 60 });
  await pause(400);
  await page.keyboard.press('Control+Enter');
  await page.getByText('exited with 0').locator('visible=true').first().waitFor();
  await pause(1000);
  const terminal = page.locator('.xterm-helper-textarea').first();
  await terminal.focus();
  await page.keyboard.type('python3 -m http.server 8000 -d site &\n', { delay: 40 });
  await page.getByRole('button', { name: 'Preview' }).first().click();
  await page.frameLocator('iframe').getByRole('heading').first().waitFor();
  await pause(2000);
}

const server = await TestServer.create();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
});
try {
  const { id } = await server.api('POST', '/v1/sessions', { name: 'demo' });
  const write = (path, content) => server.api('POST', '/v1/sessions/files/write', { session_id: id, path, content });
  await write('main.py', CODE);
  const site =
    '<!doctype html><body style="font:20px/1.6 system-ui;margin:3rem"><h1 style="color:#0f766e">It works</h1>';
  await write('site/index.html', `${site}<p>Served from a session without a network.</p>`);
  const context = await browser.newContext({ viewport: SIZE, colorScheme: 'light' });
  const page = await context.newPage();
  await page.request.get(`${server.url}/login?token=${server.token}`, { maxRedirects: 0 });
  await page.goto(server.url);
  const frames = [];
  const stop = await record(page, frames);
  await play(page, server, id);
  await stop();
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [n, { data }] of frames.entries())
    await writeFile(join(folder, `${String(n).padStart(4, '0')}.png`), data);
  await writeFile(join(folder, 'times.json'), JSON.stringify(frames.map(({ at }) => at)));
  console.log(`${frames.length} frames`);
} finally {
  await browser.close();
  await server.close();
}
