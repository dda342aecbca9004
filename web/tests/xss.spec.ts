// Nothing that others can name, print or write runs in the page, and nothing leaves it: names of files, sessions, tokens
// and snapshots, output, titles, metadata, links of terminals, SVG and HTML files.
import { expect, test as base } from './harness';
import { watch, type Incidents } from './incidents';
import { button, editor, entry, newSession, open, output, status } from './ide';

// Each flow takes seconds; machines that build at the same time take longer.
base.describe.configure({ timeout: 120_000 });

/** Runs if it is ever parsed as HTML, and asks another host if scripts are forbidden. */
const EVIL = `<img src=http://evil.example/i onerror=alert(1)><svg onload=alert(2)><script>alert(3)</script>`;
/** The same for names of files, which have no slash. */
const NAME = '<img src=x onerror=alert(1)><svg onload=alert(2)>';
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="40" onload="alert(1)">
  <script>alert(2)</script><style>@import url("http://evil.example/s.css"); rect { fill: url(http://evil.example/f) }</style>
  <image href="http://evil.example/i.png" width="9" height="9"/><use href="http://evil.example/u.svg#a"/>
  <foreignObject width="9" height="9"><img xmlns="http://www.w3.org/1999/xhtml" src="http://evil.example/h"/></foreignObject>
  <a href="javascript:alert(3)"><rect width="40" height="40"/></a></svg>`;

const test = base.extend<{ incidents: Incidents }>({
  incidents: async ({ app }, use) => {
    const incidents = await watch(app);
    await app.reload();
    await use(incidents);
    await incidents.expectNone();
  },
});

base('the listener notices what it is there for', async ({ page, server }) => {
  const incidents = await watch(page);
  await page.goto(server.url);
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  await page.evaluate((html) => {
    document.body.insertAdjacentHTML('beforeend', html);
    setTimeout(() => alert('dialog'));
    void fetch('http://evil.example/x').catch(() => undefined);
  }, EVIL);
  await expect.poll(() => incidents.found.some((text) => text.startsWith('dialog'))).toBe(true);
  await expect.poll(() => incidents.found.some((text) => /violation img-src/.test(text))).toBe(true);
  await expect.poll(() => incidents.found.some((text) => /violation connect-src/.test(text))).toBe(true);
  await expect.poll(() => incidents.found.some((text) => /violation script-src-attr/.test(text))).toBe(true);
  await expect.poll(() => incidents.found.some((text) => text.startsWith('policy'))).toBe(true);
  await page.evaluate(() => window.open('about:blank'));
  await expect.poll(() => incidents.found.some((text) => text.startsWith('window'))).toBe(true);
  await expect(incidents.expectNone()).rejects.toThrow();
});

test('names of files and folders', async ({ app, server, incidents }) => {
  const session = await newSession(server, { [`${NAME}.py`]: 'print(1)\n', [`${NAME} d/a.txt`]: 'needle\n' });
  await open(app, session);
  await entry(app, `${NAME}.py`).click();
  await expect(app.getByRole('tab', { name: `${NAME}.py` })).toBeVisible();
  await expect(editor(app)).toContainText('print');
  await app.getByRole('tab', { name: `${NAME}.py` }).hover();
  await button(app, 'Run Python').click();
  await expect(output(app)).toContainText('exited with 0');

  await app.keyboard.press('ControlOrMeta+P');
  await app.getByRole('combobox', { name: 'Find a file by name' }).fill('onload');
  await expect(app.getByRole('option').filter({ hasText: `${NAME}.py` })).toBeVisible();
  await app.keyboard.press('Escape');
  await app.keyboard.press('ControlOrMeta+Shift+F');
  await app.getByRole('searchbox', { name: 'Search in files' }).fill('needle');
  await expect(app.getByText('1 matches in 1 files').or(app.getByText('1 match in 1 file'))).toBeVisible();

  await app.getByRole('button', { name: 'Files', exact: true }).click();
  await entry(app, `${NAME}.py`).click({ button: 'right' });
  await app.getByRole('menuitem', { name: 'Rename' }).click();
  await app.getByRole('textbox', { name: 'Name' }).fill(`2${NAME}.py`);
  await app.keyboard.press('Enter');
  await expect(entry(app, `2${NAME}.py`)).toBeVisible();
  await app.getByRole('tree').focus();
  await app.keyboard.press('Delete');
  await expect(app.getByText(`2${NAME}.py deleted`)).toBeVisible();
  await incidents.expectNone();

  const file = { name: `up ${NAME}.txt`, mimeType: 'text/html', buffer: Buffer.from(EVIL) };
  await app.locator('input[type=file]:not([webkitdirectory])').setInputFiles([file]);
  await expect(entry(app, 'up ')).toBeVisible();
});

test('text of files: search, problems of a build, and their place in the editor', async ({
  app,
  server,
  incidents,
}) => {
  const code = `#include <stdio.h>\n#error ${NAME}\nint main(void) { return 0; }\n`;
  const session = await newSession(server, { [`${NAME}.c`]: code, 'a.md': `[x](javascript:alert(1)) ${EVIL}\n` });
  await open(app, session, `${NAME}.c`);
  await expect(editor(app)).toContainText('#error');
  await button(app, 'Build').click();
  await expect(status(app).getByRole('button', { name: /1 errors/ })).toBeVisible({ timeout: 60_000 });
  await app.getByRole('tab', { name: /Problems/ }).click();
  await app.getByRole('button', { name: /#error/ }).click();
  await expect(editor(app).locator('.squiggly-error').first()).toBeVisible();
  await editor(app).locator('.squiggly-error').first().hover({ force: true });
  await expect(app.locator('.monaco-hover:visible').first()).toContainText('onerror=alert');
  await incidents.expectNone();
  await app.keyboard.press('Escape');
  await app.keyboard.press('ControlOrMeta+Shift+F');
  await app.getByRole('searchbox', { name: 'Search in files' }).fill('onerror');
  await expect(app.getByText('2 matches in 2 files')).toBeVisible();
});

test('SVG and HTML files', async ({ app, server, incidents }) => {
  const session = await newSession(server, { 'a.svg': SVG, 'a.html': `<h1>page</h1>${EVIL}` });
  await open(app, session);
  await entry(app, 'a.html').click();
  await expect(editor(app)).toContainText('onerror');
  await entry(app, 'a.svg').click();
  await app.getByRole('tab', { name: 'Preview' }).click();
  const picture = app.getByRole('img', { name: 'The picture a.svg' });
  await expect(picture).toBeVisible();
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(40);
  await picture.click();
  await incidents.expectNone();
  // By its own address a file is a download, in a sandbox, and never a page of this origin.
  for (const file of ['a.svg', 'a.html']) {
    const address = `/v1/sessions/${session}/files/content?path=${file}`;
    const headers = (await app.request.get(address)).headers();
    expect(headers['content-disposition']).toMatch(/^attachment/);
    expect(headers['content-type']).toBe('application/octet-stream');
    expect(headers['content-security-policy']).toContain('sandbox');
    expect(headers['x-content-type-options']).toBe('nosniff');
    const download = app.waitForEvent('download');
    await app.goto(address).catch(() => undefined);
    await (await download).cancel();
  }
});

test('output, titles, links, metadata and environment of an execution', async ({ app, server, incidents }) => {
  const link = (address: string, text: string): string => `\u001b]8;;${address}\u001b\\${text}\u001b]8;;\u001b\\`;
  const lines = [
    EVIL,
    `\u001b]0;${EVIL}\u0007titled`,
    link('javascript:alert(1)', 'script link'),
    link('data:text/html,<script>alert(1)</script>', 'data link'),
    link(' jAvaScript:alert(1)', 'hidden link'),
    link('https://evil.example/"onmouseover="alert(1)', 'quoted link'),
    '\u001b[38;2;url(http://evil.example/c)mcoloured',
  ];
  const { id } = await server.api<{ id: string }>('POST', '/v1/executions', {
    language: 'python',
    code: `import json\n# ${EVIL}\nfor line in json.loads(${JSON.stringify(JSON.stringify(lines))}): print(line)\n`,
    args: [EVIL],
    env: { EVIL },
    metadata: { [EVIL]: EVIL },
  });
  await server.api('GET', `/v1/executions/${id}?wait=20s`);
  await app.goto(`/executions/${id}`);
  const row = (text: string) => app.locator('[data-row] .text').filter({ hasText: text });
  await expect(row('<img')).toHaveText([EVIL]);
  for (const text of ['script link', 'data link', 'hidden link']) {
    await expect(row(text).locator('a')).toHaveCount(0);
    await row(text).click();
  }
  const quoted = row('quoted link').locator('a');
  await expect(quoted).not.toHaveAttribute('onmouseover');
  await expect(quoted).toHaveAttribute('rel', 'noopener noreferrer');
  await quoted.hover();
  await expect(app.getByText(EVIL, { exact: true }).nth(1)).toBeVisible();
  await incidents.expectNone();

  await app.goto('/history');
  await expect(app.getByRole('main')).toContainText('python');
  await incidents.expectNone();
  // The raw output is text by its own address too.
  const answer = await app.goto(`/v1/executions/${id}/output`);
  expect(answer?.headers()['content-type']).toMatch(/^text\/plain/);
  expect(await app.locator('img, svg, script').count()).toBe(0);
});

test('names of sessions, snapshots and tokens', async ({ app, server, incidents }) => {
  const { id } = await server.api<{ id: string }>('POST', '/v1/sessions', { name: EVIL, metadata: { [EVIL]: EVIL } });
  await server.api('POST', `/v1/sessions/${id}/snapshots`, { name: EVIL });
  await server.api('POST', '/v1/tokens', { name: EVIL });
  await app.goto('/');
  await expect(app.getByText(EVIL).first()).toBeVisible();
  await app.keyboard.press('ControlOrMeta+K');
  await app.getByRole('dialog').getByRole('combobox').fill('onerror');
  await expect(app.getByRole('option').filter({ hasText: EVIL }).first()).toBeVisible();
  await incidents.expectNone();

  await app.goto('/sessions');
  await app.getByRole('button', { name: `Actions for ${EVIL}` }).click();
  await app.getByRole('menuitem', { name: 'Snapshots' }).click();
  await expect(app.getByRole('dialog').getByText(EVIL, { exact: true }).first()).toBeVisible();
  await incidents.expectNone();

  await app.goto(`/sessions/${id}`);
  await expect(app).toHaveTitle(new RegExp('^<img src=http://evil'));
  for (const path of ['/admin/tokens', '/admin/audit', '/settings/tokens']) {
    await app.goto(path);
    const shown =
      path === '/admin/audit' ? app.getByRole('row').filter({ hasText: 'token.create' }) : app.getByText(EVIL);
    await expect(shown.first()).toBeVisible();
    await incidents.expectNone();
  }
});

test('titles, links, folders and commands of a terminal, and the clipboard', async ({ app, server, incidents }) => {
  await app.addInitScript(() => localStorage.setItem('headwater.terminal', JSON.stringify({ renderer: 'dom' })));
  const session = await newSession(server, {
    'attack.sh': [
      `printf '%b' '\\e]0;${EVIL}\\a\\e]2;${EVIL}\\a\\e]1;${EVIL}\\a'`,
      `printf '%b' '\\e]7;file://evil.example/${encodeURIComponent(EVIL)}\\a'`,
      `printf '%b' '\\e]8;;javascript:alert(1)\\e\\\\script-link\\e]8;;\\e\\\\ \\e]8;;data:text/html,x\\e\\\\data-link\\e]8;;\\e\\\\\\n'`,
      // An image by the protocols that some terminals have, and a notification.
      `printf '%b' '\\e]1337;File=inline=1:aHR0cDovL2V2aWwuZXhhbXBsZS8=\\a\\e]9;${EVIL}\\a\\e]777;notify;${EVIL}\\a'`,
      // Asks for the clipboard: the answer would be typed into the shell.
      `stty -echo -icanon min 0 time 10; printf '%b' '\\e]52;c;?\\a'; got=$(cat | tr -cd A-Za-z0-9); stty sane; echo "answer=[$got]"`,
      `echo attack is over`,
    ].join('\n'),
  });
  await app.goto(`/sessions/${session}/terminals/main`);
  await app.evaluate(() => navigator.clipboard.writeText('correct horse battery'));
  const screen = app.locator('[data-terminal="main"] .xterm-rows');
  await expect(screen).toContainText('$');
  await app.keyboard.type(`: '${NAME}'; . ./attack.sh\n`);
  await expect(screen).toContainText('attack is over', { timeout: 30_000 });
  await expect(screen).toContainText('answer=[52c]');
  await expect(app.locator('[data-terminal="main"] .title')).toContainText('<img');
  for (const text of ['script-link', 'data-link']) {
    await screen.getByText(text).first().hover({ force: true });
    await screen.getByText(text).first().click({ force: true });
  }
  // The command is in the mark of the gutter, as text.
  await expect(app.locator('.command-mark').first()).toHaveAttribute('aria-label', /onerror/);
  await app.locator('.command-mark').first().hover({ force: true });
  expect(await app.evaluate(() => navigator.clipboard.readText())).toBe('correct horse battery');
  await incidents.expectNone();
});
