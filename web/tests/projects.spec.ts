// Whole projects in the IDE: git, folders that are dropped, CMake and Make.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from '@playwright/test';
import { expect, test, type Page } from './harness';
import { button, editor, entry, newSession, open, output, read, status, type } from './ide';
import type { TestServer } from './server.mjs';

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 120_000 });

/** Runs a command in the session and waits for its end. */
async function shell(server: TestServer, session: string, command: string): Promise<void> {
  const { id } = await server.api<{ id: string }>('POST', `/v1/sessions/${session}/executions`, { shell: command });
  const ended = await server.api<{ exit: unknown }>('GET', `/v1/executions/${id}?wait=30s`);
  expect(ended.exit).toMatchObject({ reason: 'exited', code: 0 });
}

const git = 'git -c user.name=ann -c user.email=ann@example.org';

test('the state of a git repository is in the tree and in the status bar, and follows', async ({ app, server }) => {
  const session = await newSession(server, { 'kept.py': 'kept\n', 'src/changed.py': 'one\n', 'gone.txt': 'x\n' });
  await open(app, session);
  await expect(entry(app, 'kept.py')).toBeVisible();
  const state = (name: string): Locator => entry(app, name).locator('.git');
  await expect(state('kept.py')).toHaveCount(0);

  // A repository that is made while the page is open.
  await shell(server, session, 'git init -q -b trunk .');
  await expect(status(app).getByText('trunk*')).toBeVisible({ timeout: 30_000 });
  await expect(state('kept.py')).toHaveText('U');
  await expect(entry(app, 'kept.py')).toHaveAttribute('title', /not tracked/);

  await shell(server, session, `git add . && ${git} commit -qm first`);
  await expect(status(app).getByText('trunk', { exact: true })).toBeVisible({ timeout: 30_000 });
  await expect(state('kept.py')).toHaveCount(0);

  // A change by the editor: the file, and the folders around it.
  await entry(app, 'src').click();
  await entry(app, 'changed.py').click();
  await expect(editor(app)).toContainText('one');
  await type(app, 'two\n');
  await app.keyboard.press('ControlOrMeta+S');
  await expect(state('changed.py')).toHaveText('M', { timeout: 30_000 });
  await expect(entry(app, 'changed.py')).toHaveAttribute('title', /modified/);
  await expect(state('src')).toHaveText('•');
  await expect(status(app).getByText('trunk*')).toBeVisible();

  // Changes by programs: staged, new, and another branch.
  await shell(server, session, 'git checkout -q -b other; echo 1 > new.py; git add new.py; echo 2 > fresh.py');
  await expect(status(app).getByText('other*')).toBeVisible({ timeout: 30_000 });
  await expect(state('new.py')).toHaveText('A');
  await expect(state('fresh.py')).toHaveText('U');
  await expect(state('kept.py')).toHaveCount(0);

  await shell(server, session, 'rm -rf .git');
  await expect(status(app).getByText('other*')).toHaveCount(0, { timeout: 30_000 });
  await expect(state('changed.py')).toHaveCount(0);
  // What reads the state is no execution of the user.
  const page = await server.api<{ items: { metadata: object }[] }>('GET', `/v1/executions?session_id=${session}`);
  expect(page.items.filter(({ metadata }) => 'purpose' in metadata)).toEqual([]);
});

test('a repository that is created before the watch begins is found', async ({ app, server }) => {
  const session = await newSession(server, { 'kept.py': 'kept\n' });
  await app.route('**/files/watch*', async (route) => {
    // The tree has been read by now, and the state of the repository has been asked for in vain.
    await shell(server, session, 'git init -q -b early .');
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await route.continue();
  });
  await open(app, session);
  await expect(status(app).getByText('early*')).toBeVisible({ timeout: 30_000 });
});

/** Drops files or folders of this machine on an element, as a desktop does. */
async function drop(page: Page, target: Locator, files: string[]): Promise<void> {
  const box = await target.boundingBox();
  if (box === null) throw new Error('the target is not visible');
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const data = { items: [], files, dragOperationsMask: 1 };
  const browser = await page.context().newCDPSession(page);
  for (const kind of ['dragEnter', 'dragOver', 'drop'] as const) {
    await browser.send('Input.dispatchDragEvent', { type: kind, ...at, data });
  }
  await browser.detach();
}

test('a folder that is dropped is uploaded with everything in it', async ({ app, server }) => {
  const folder = await mkdtemp(join(tmpdir(), 'hw-drop-'));
  try {
    const project = join(folder, 'my project');
    await mkdir(join(project, 'deep/deeper'), { recursive: true });
    await writeFile(join(project, 'ä ö.txt'), 'umlauts\n');
    await writeFile(join(project, 'deep/deeper/end.txt'), 'deep\n');
    // More than the hundred entries that the browser returns at a time.
    for (let at = 0; at < 130; at += 1) await writeFile(join(project, 'deep', `${at}.txt`), `${at}\n`);
    await writeFile(join(folder, 'single.txt'), 'single\n');

    const session = await newSession(server, { 'lib/a.txt': 'a\n', 'my project/ä ö.txt': 'mine\n' });
    await open(app, session);
    await entry(app, 'lib').click();
    await expect(entry(app, 'a.txt')).toBeVisible();
    await drop(app, entry(app, 'lib'), [project, join(folder, 'single.txt')]);
    await expect(app.getByText('133 files uploaded')).toBeVisible({ timeout: 60_000 });
    expect(await read(server, session, 'lib/my project/ä ö.txt')).toBe('umlauts\n');
    expect(await read(server, session, 'lib/my project/deep/deeper/end.txt')).toBe('deep\n');
    expect(await read(server, session, 'lib/my project/deep/129.txt')).toBe('129\n');
    expect(await read(server, session, 'lib/single.txt')).toBe('single\n');
    await expect(entry(app, 'single.txt')).toBeVisible();

    // Dropped beside the rows it goes to the workspace; what exists is left.
    await drop(app, app.getByRole('tree'), [project]);
    await expect(app.getByText('131 files uploaded')).toBeVisible({ timeout: 60_000 });
    await expect(app.getByText('1 file exists already and was left')).toBeVisible();
    expect(await read(server, session, 'my project/ä ö.txt')).toBe('mine\n');
    expect(await read(server, session, 'my project/deep/0.txt')).toBe('0\n');
  } finally {
    await rm(folder, { recursive: true });
  }
});

const HELLO = '#include <stdio.h>\nint main(void) { puts("hello from NAME"); return 0; }\n';

for (const [tool, file, text] of [
  ['CMake', 'CMakeLists.txt', 'cmake_minimum_required(VERSION 3.10)\nproject(demo C)\nadd_executable(demo main.c)\n'],
  ['Make', 'Makefile', 'demo: main.c\n\t$(CC) -o $@ main.c\n'],
] as const) {
  test(`a project of ${tool} is built and run, and its errors are problems`, async ({ app, server }) => {
    const session = await newSession(server, { [`app/${file}`]: text, 'app/main.c': HELLO.replace('NAME', tool) });
    await open(app, session, `app/${file}`);
    await expect(editor(app)).toContainText('demo');
    await expect(button(app, 'Run Binary')).toHaveCount(0);
    await button(app, 'Build').click();
    await expect(button(app, 'Run Binary')).toBeVisible({ timeout: 60_000 });
    await button(app, 'Run Binary').click();
    await expect(output(app)).toContainText(`hello from ${tool}`);

    await entry(app, 'main.c').click();
    await expect(editor(app)).toContainText('puts');
    await type(app, HELLO.replace('NAME', 'again').replace(';', ''));
    await app.keyboard.press('ControlOrMeta+S');
    await expect(status(app).getByText('not saved')).toHaveCount(0);
    await app.getByRole('tab', { name: new RegExp(file) }).click();
    await button(app, 'Build & Run').click();
    await expect(status(app).getByRole('button', { name: /1 errors/ })).toBeVisible({ timeout: 60_000 });
    await app.getByRole('tab', { name: /Problems/ }).click();
    await app.getByRole('button', { name: /expected .;/ }).click();
    await expect(status(app)).toContainText('Ln 2');

    await type(app, HELLO.replace('NAME', 'again'));
    await app.keyboard.press('ControlOrMeta+S');
    await expect(status(app).getByText('not saved')).toHaveCount(0);
    await app.getByRole('tab', { name: new RegExp(file) }).click();
    await button(app, 'Build & Run').click();
    await expect(output(app)).toContainText('hello from again', { timeout: 60_000 });
  });
}
