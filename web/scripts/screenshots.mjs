// Takes pictures of every page, in both themes and at phone size, into docs/screenshots. Needs a built app, the binary
// (HEADWATER_BIN), the scripted model beside it, and Chromium. SCREENSHOTS is another folder, for pictures to look at: it
// gets a smaller window, too.
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { ScriptedModel } from '../tests/model.mjs';
import { TestServer } from '../tests/server.mjs';
import { converse, script } from './conversation.mjs';

const folder = process.env.SCREENSHOTS ?? fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));
const only = process.argv.slice(2);

const views = [
  { name: 'light', viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  { name: 'dark', viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
  { name: 'phone-light', viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true, isMobile: true },
  ...(process.env.SCREENSHOTS
    ? [{ name: 'small-light', viewport: { width: 1024, height: 768 }, colorScheme: 'light' }]
    : []),
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true },
];

/** Puts into the server what pages show. Returns the ids that pictures need. */
async function fill(server) {
  const put = async (session, path, content) => {
    const url = `${server.direct}/v1/sessions/${session}/files/content?path=${encodeURIComponent(path)}`;
    const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/octet-stream' };
    const response = await fetch(url, { method: 'PUT', headers, body: content });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  };
  const start = async (path, body) => {
    const { id } = await server.api('POST', path, body);
    if (!body.shell?.includes('sleep 600')) await server.api('GET', `/v1/executions/${id}?wait=20s`);
    return id;
  };
  const project = await server.api('POST', '/v1/sessions', { name: 'word count' });
  await server.api('POST', '/v1/sessions', { name: 'تقارير الأسبوع' });
  await server.api('POST', '/v1/users', { name: 'ann', password: 'correct horse battery', role: 'member' });
  const code = `"""Counts the words of a text."""
import sys
from collections import Counter


def count(text: str) -> Counter[str]:
    return Counter(text.lower().split())


if __name__ == "__main__":
    text = " ".join(sys.argv[1:]) or "the quick brown fox jumps over the lazy dog"
    for word, times in count(text).most_common(5):
        print(f"{times:3} {word}")
`;
  await put(project.id, 'main.py', code);
  await put(project.id, 'README.md', '# Word count\n\nCounts the words of a text.\n');
  await put(project.id, 'src/util.cpp', '#include <iostream>\n\nint main() {\n    std::cout << "hello\\n";\n}\n');
  const site = `<!doctype html>
<title>Words</title>
<style>body { font: 18px/1.6 system-ui; margin: 3rem } h1 { color: #0f766e }</style>
<h1>Words of the day</h1>
<ul><li>headwater: the source of a river</li><li>riffle: a shallow, fast part of it</li></ul>
`;
  await put(project.id, 'site/index.html', site);
  const runs = `/v1/sessions/${project.id}/executions`;
  await start(runs, { language: 'python', code, file: 'main.py' });
  await start(runs, { shell: 'ls -la && uname -a' });
  await start(runs, { shell: 'echo "no such thing" >&2; exit 3' });
  await start('/v1/executions', { language: 'bash', code: 'for n in 1 2 3; do echo "line $n"; done' });
  const build = String.raw`printf '\033[1mCompiling\033[0m 24 crates\n'
for n in $(seq 1 24); do printf '\033[32m   Compiling\033[0m crate-%02d v0.%d.0\n' $n $n; done
printf '\033[33mwarning\033[0m: unused variable: x\n  --> src/main.rs:12:9\n' >&2
for n in $(seq 1 40); do printf 'test case_%02d ... \033[32mok\033[0m\n' $n; done
printf '\033[31merror\033[0m: test limits::memory failed\n' >&2
printf 'see https://example.org/builds/1024\n'; exit 101`;
  const log = await start(runs, { shell: build });
  await start(runs, { shell: 'echo waiting for work; sleep 600' });
  await server.api('POST', runs, { argv: ['python3', '-m', 'http.server', '8000', '--directory', 'site'] });
  return { session: project.id, log, ...(await converse(server, project.id)) };
}

const settle = (page) => page.waitForLoadState('networkidle', { timeout: 5000 }).catch(() => undefined);

const pages = [
  { name: 'sign-in', guest: true, path: () => '/', ready: (page) => page.getByRole('heading', { name: 'Sign in' }) },
  {
    name: 'home',
    path: () => '/',
    ready: (page) => page.getByRole('list', { name: 'Recent executions' }),
    async act(page) {
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByTestId('home-output').getByText('done', { exact: true }).waitFor();
    },
  },
  {
    name: 'palette',
    path: () => '/',
    ready: (page) => page.getByRole('list', { name: 'Recent executions' }),
    async act(page) {
      await page.getByRole('button', { name: 'Commands' }).click();
      await page.getByRole('option', { name: /word count/ }).waitFor({ state: 'attached' });
    },
  },
  { name: 'sessions', path: () => '/sessions', ready: (page) => page.getByText('word count').first() },
  {
    name: 'ide',
    path: ({ session }) => `/sessions/${session}?file=main.py`,
    ready: (page) => page.locator('.monaco-editor .view-line').first(),
    async act(page) {
      await page.getByRole('button', { name: 'Run Python' }).click();
      await page.getByText('exited with 0').locator('visible=true').first().waitFor();
    },
  },
  {
    name: 'preview',
    path: ({ session }) => `/sessions/${session}?file=site/index.html`,
    ready: (page) => page.locator('.monaco-editor .view-line').first(),
    async act(page) {
      await page.getByRole('button', { name: 'Show port 8000' }).click();
      await page.frameLocator('iframe').getByRole('heading').first().waitFor();
    },
  },
  {
    name: 'chat',
    path: ({ chat }) => `/chat/${chat}`,
    ready: (page) => page.getByRole('cell', { name: '3 words' }).first(),
    async act(page) {
      // The command, the patch and the tests, rather than the end of the answer.
      await page.locator('[data-tool=exec_command]').first().scrollIntoViewIfNeeded();
      await page.locator('.line.right').first().waitFor();
    },
  },
  {
    name: 'chat-running',
    path: ({ running }) => `/chat/${running}`,
    ready: (page) => page.locator('[data-row].stderr').filter({ hasText: 'waiting for the database' }),
  },
  {
    name: 'chat-approval',
    path: ({ approval }) => `/chat/${approval}`,
    ready: (page) => page.getByRole('button', { name: 'Allow once' }),
  },
  {
    name: 'chat-list',
    path: () => '/chat',
    ready: (page) => page.getByText('What should be done?'),
    async act(page) {
      const list = page.getByRole('button', { name: 'Show the list of conversations' });
      if (await list.isVisible()) await list.click();
      await page.getByRole('link', { name: /commas/ }).waitFor();
    },
  },
  { name: 'execution', path: ({ log }) => `/executions/${log}`, ready: (page) => page.getByText('case_40').first() },
  {
    name: 'history',
    path: () => '/history',
    ready: (page) => page.getByText(/\d+ executions/).first(),
  },
  {
    name: 'admin',
    path: () => '/admin',
    ready: (page) => page.locator('main h1').first(),
    // Charts need some points.
    act: (page) => page.waitForTimeout(15_000),
  },
  { name: 'admin-users', path: () => '/admin/users', ready: (page) => page.getByText('ann').first() },
  { name: 'settings', path: () => '/settings', ready: (page) => page.getByRole('heading', { name: 'Settings' }) },
  { name: 'tokens', path: () => '/settings/tokens', ready: (page) => page.getByText('first').first() },
];

const model = await ScriptedModel.start(script);
const section = `[models.local]\napi = "openai-chat"\nbase_url = "${model.url}/v1"\nmodel = "scripted"\ndefault = true\n`;
const server = await TestServer.create({ config: section });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
});
let failures = 0;
try {
  await mkdir(folder, { recursive: true });
  const ids = await fill(server);
  for (const { name: view, ...options } of views) {
    for (const { name, path, ready, act, guest } of pages) {
      if (only.length > 0 && !only.includes(name)) continue;
      const context = await browser.newContext({ ...options, reducedMotion: 'reduce' });
      const page = await context.newPage();
      const file = `${folder}/${name}-${view}.png`;
      try {
        if (!guest) await page.request.get(`${server.url}/login?token=${server.token}`, { maxRedirects: 0 });
        await page.goto(server.url + path(ids));
        await ready(page).waitFor({ timeout: 20_000 });
        await act?.(page);
        await settle(page);
        await page.screenshot({ path: file, animations: 'disabled', caret: 'hide' });
      } catch (error) {
        failures += 1;
        console.error(`${name}, ${view}: ${String(error).split('\n')[0]}`);
        await rm(file, { force: true });
      }
      await context.close();
    }
  }
  const files = (await readdir(folder)).filter((file) => file.endsWith('.png'));
  const sizes = await Promise.all(files.map(async (file) => (await stat(`${folder}/${file}`)).size));
  console.log(`${files.length} pictures, ${Math.round(sizes.reduce((sum, size) => sum + size, 0) / 1000)} KB`);
} finally {
  await browser.close();
  await server.close();
  await model.close();
}
process.exitCode = failures > 0 ? 1 : 0;
