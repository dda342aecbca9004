// Terminals: connection, keys, screen after a reload and after a crash of the server, several viewers, phones, and what
// programs must not be able to do to the page.
import type { Browser, Locator } from '@playwright/test';
import { expect, expectAccessible, newPage, test, watchErrors, type Page } from './harness';
import type { TestServer } from './server.mjs';

const PROMPT = /\$\s*$/;

/** Draws with elements, so that the text can be read, and notes the connection states. */
async function prepare(page: Page): Promise<void> {
  await page.addInitScript(() => {
    localStorage.setItem('headwater.terminal', JSON.stringify({ renderer: 'dom' }));
    const states: string[] = [];
    Object.assign(window, { states });
    const note = (): void => {
      const word = document.querySelector('[data-terminal] [role="status"][data-state]')?.textContent.trim();
      if (word !== undefined && word !== '' && states.at(-1) !== word) states.push(word);
    };
    new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
  });
}

async function newSession(server: TestServer): Promise<string> {
  const { id } = (await server.api('POST', '/v1/sessions', {})) as { id: string };
  return id;
}

function screen(page: Page, name = 'main'): Locator {
  return page.locator(`[data-terminal="${name}"] .xterm-rows`);
}

function state(page: Page, name = 'main'): Locator {
  return page.locator(`[data-terminal="${name}"] [role="status"][data-state]`);
}

async function openTerminal(page: Page, session: string, name = 'main'): Promise<void> {
  await page.goto(`/sessions/${session}/terminals/${name}`);
  await expect(state(page, name)).toHaveText('CONNECTED');
  await expect(screen(page, name)).toContainText('$');
}

/** The lines of the screen, without blanks at their ends and empty lines at the bottom. */
async function lines(page: Page, name = 'main'): Promise<string[]> {
  const rows = await screen(page, name)
    .locator('> div')
    .evaluateAll((found) => found.map((row) => (row.textContent ?? '').replaceAll('\u00a0', ' ').trimEnd()));
  while (rows.at(-1) === '') rows.pop();
  return rows;
}

/** Types a line, and waits until the shell asks for the next one after printing something. */
async function run(page: Page, line: string, printed: string | RegExp, name = 'main'): Promise<void> {
  await page.keyboard.type(line);
  await page.keyboard.press('Enter');
  await expect
    .poll(async () => {
      const shown = await lines(page, name);
      const isMatch = (text: string): boolean => (typeof printed === 'string' ? text === printed : printed.test(text));
      return shown.some(isMatch) && PROMPT.test(shown.at(-1) ?? '');
    })
    .toBe(true);
}

test.beforeEach(async ({ app }) => prepare(app));

test('connects, and commands are answered', async ({ app, server }) => {
  const session = await newSession(server);
  await app.goto(`/terminal/${session}`);
  await expect(state(app)).toHaveText('CONNECTED');
  const states = await app.evaluate(() => (window as unknown as { states: string[] }).states);
  expect(states.slice(0, 2)).toEqual(['CONNECTING...', 'CONNECTED']);
  await expect(app).toHaveURL(`/sessions/${session}/terminals/main`);
  await expect(app.getByRole('note', { name: 'Welcome to Headwater' })).toBeVisible();
  await run(app, 'echo $((6 * 7))', '42');
  await expect(app.getByRole('note', { name: 'Welcome to Headwater' })).toBeHidden();
  await app.keyboard.press('ArrowUp');
  await expect.poll(async () => (await lines(app)).at(-1)).toMatch(/echo \$\(\(6 \* 7\)\)$/);
});

test('Ctrl+C interrupts', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  await app.keyboard.type('echo begun; sleep 300');
  await app.keyboard.press('Enter');
  await expect.poll(async () => (await lines(app)).includes('begun')).toBe(true);
  await app.keyboard.press('Control+c');
  await run(app, 'echo code $?', 'code 130');
});

test('Tab completes commands and files, by the shell', async ({ app, server }) => {
  const session = await newSession(server);
  await openTerminal(app, session);
  await run(app, 'echo found > a-file-with-a-long-name.txt; echo made', 'made');
  await app.keyboard.type('cat a-file-w');
  await app.keyboard.press('Tab');
  await expect.poll(async () => (await lines(app)).at(-1)).toMatch(/cat a-file-with-a-long-name\.txt$/);
  await app.keyboard.press('Enter');
  await expect.poll(async () => (await lines(app)).includes('found')).toBe(true);
  await app.keyboard.type('unse');
  await app.keyboard.press('Tab');
  await expect.poll(async () => (await lines(app)).at(-1)).toMatch(/\$ unset$/);
});

test('colours are those of the theme, and follow it', async ({ app, server }) => {
  await app.emulateMedia({ colorScheme: 'light' });
  await openTerminal(app, await newSession(server));
  await run(app, String.raw`printf '\e[31mRE''D\e[0m\n'`, 'RED');
  const red = screen(app).getByText('RED', { exact: true });
  const variable = (): Promise<string> =>
    app.evaluate(() => {
      const probe = document.createElement('i');
      probe.style.color = 'var(--ansi-1)';
      document.body.append(probe);
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    });
  const light = await variable();
  await expect(red).toHaveCSS('color', light);
  await app.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(variable).not.toBe(light);
  await expect(red).toHaveCSS('color', await variable());
});

test('the terminal has the size of its window', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  const rows = (): Promise<number> => screen(app).locator('> div').count();
  const before = await rows();
  await run(app, 'stty size', new RegExp(`^${String(before)} \\d+$`));
  await app.setViewportSize({ width: 1000, height: 600 });
  await expect.poll(rows).toBeLessThan(before);
  await run(app, 'clear; stty size', new RegExp(`^${String(await rows())} \\d+$`));
  await app.keyboard.press('Control+-');
  await expect.poll(rows).toBeGreaterThan(10);
  const smaller = await rows();
  await app.keyboard.press('Control+0');
  await expect.poll(rows).toBeLessThan(smaller);
});

test('a reload shows the same screen', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  await run(
    app,
    String.raw`for i in 1 2 3; do printf 'n%s \e[3%smx\e[0m\n' $i $i; done; echo -n "end"; echo ed`,
    'ended',
  );
  await app.keyboard.type('half a line');
  await expect.poll(async () => (await lines(app)).at(-1)).toMatch(/half a line$/);
  const before = await lines(app);
  await app.reload();
  await expect(state(app)).toHaveText('CONNECTED');
  await expect.poll(() => lines(app)).toEqual(before);
  await app.keyboard.press('Control+u');
  await run(app, 'echo still here', 'still here');
});

test('a server that is killed and restarted loses and doubles nothing', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  await app.keyboard.type('for i in $(seq 1 24); do echo line-$i; sleep 0.25; done; echo all-done');
  await app.keyboard.press('Enter');
  await expect.poll(async () => (await lines(app)).includes('line-3')).toBe(true);
  await server.stop('SIGKILL');
  await expect(state(app)).toHaveText(/RECONNECTING|OFFLINE|CONNECTING/);
  await expect(app.getByText('The shell keeps running.')).toBeVisible();
  await server.start();
  await expect(state(app)).toHaveText('CONNECTED', { timeout: 30_000 });
  await expect.poll(async () => (await lines(app)).includes('all-done'), { timeout: 30_000 }).toBe(true);
  const printed = (await lines(app)).filter((line) => line.startsWith('line-'));
  expect(printed).toEqual(Array.from({ length: 24 }, (_, at) => `line-${String(at + 1)}`));
  await run(app, 'echo works', 'works');
});

test('two browsers share one terminal', async ({
  app,
  server,
  browser,
}: {
  app: Page;
  server: TestServer;
  browser: Browser;
}) => {
  const session = await newSession(server);
  await openTerminal(app, session);
  const other = await newPage(browser, server, { signedIn: true });
  const check = watchErrors(other);
  await prepare(other);
  await other.setViewportSize({ width: 900, height: 700 });
  await openTerminal(other, session);
  await run(app, 'echo from-one', 'from-one');
  await expect.poll(async () => (await lines(other)).includes('from-one')).toBe(true);
  await expect(other.getByText('Another window sets the size')).toBeVisible();
  await run(other, 'echo from-two', 'from-two');
  await expect.poll(async () => (await lines(app)).includes('from-two')).toBe(true);
  await expect(app.getByText('Another window sets the size')).toBeVisible();
  await expect(other.getByText('Another window sets the size')).toBeHidden();
  check();
  await other.context().close();
});

test('copy and paste', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  await run(app, 'echo pick-me', 'pick-me');
  await screen(app).getByText('pick-me', { exact: true }).dblclick({ force: true });
  await app.keyboard.press('Control+Shift+C');
  await expect.poll(() => app.evaluate(() => navigator.clipboard.readText())).toMatch(/pick/);
  // Lines that are pasted wait for Enter, and cannot end the paste by themselves.
  await app.evaluate(() => navigator.clipboard.writeText('echo one\necho t\u001b[201~wo'));
  await app.keyboard.press('Control+Shift+V');
  await expect.poll(async () => (await lines(app)).at(-1)).toMatch(/echo t\[201~wo$/);
  expect(await lines(app)).not.toContain('one');
  await app.keyboard.press('Control+c');
  await app.evaluate(() => navigator.clipboard.writeText('echo by-menu'));
  await screen(app).click({ button: 'right', position: { x: 300, y: 300 }, force: true });
  await app.getByRole('menuitem', { name: 'Paste' }).click();
  await expect.poll(async () => (await lines(app)).at(-1)).toMatch(/echo by-menu$/);
  await run(app, '', 'by-menu');
});

test('commands have marks with their exit state, and their output can be copied', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  await run(app, 'seq 3', '3');
  await run(app, 'ls /does-not-exist', /No such file/);
  const marks = app.locator('.command-mark');
  await expect(marks.and(app.locator('.command-succeeded'))).toHaveCount(1);
  await expect(marks.and(app.locator('.command-failed'))).toHaveAttribute('aria-label', /exited with 2/);
  // A program cannot forge them.
  await run(app, String.raw`printf '\e]133;D;0\a\e]133;A\a\e]133;C\afor''ged\n'; false`, 'forged');
  await expect(marks.and(app.locator('.command-failed'))).toHaveCount(2);
  await expect(marks.and(app.locator('.command-succeeded'))).toHaveCount(1);
  await app.getByRole('button', { name: 'Copy the output of “seq 3”' }).click();
  await expect.poll(() => app.evaluate(() => navigator.clipboard.readText())).toBe('1\n2\n3');
  await screen(app).click({ force: true });
  await app.keyboard.press('Control+Shift+ArrowUp');
  await expect(app.locator('.command-focused')).toHaveAttribute('aria-label', /printf/);
  await app.keyboard.press('Control+Shift+ArrowUp');
  await expect(app.locator('.command-focused')).toHaveAttribute('aria-label', /does-not-exist/);
});

test('search finds what is on the screen', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  await run(app, 'printf "needle %s\\n" 1 2 3', 'needle 3');
  await app.keyboard.press('Control+Shift+F');
  const search = app.getByRole('search', { name: 'Search in the terminal' });
  await search.getByRole('textbox').fill('needle');
  await expect(search.getByRole('status')).toHaveText(/ of 4$/);
  await search.getByRole('textbox').fill('haystack');
  await expect(search.getByRole('status')).toHaveText('No results');
  await app.keyboard.press('Escape');
  await expect(search).toBeHidden();
  await run(app, 'echo focus is back', 'focus is back');
});

test('titles and links of programs are harmless', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  const popups: string[] = [];
  app.context().on('page', (opened) => popups.push(opened.url()));
  await run(app, String.raw`printf '\e]0;<img src=x onerror=window.pwned=1>\u202e\a'; echo titled`, 'titled');
  await expect(app.locator('[data-terminal="main"] .title')).toHaveText('<img src=x onerror=window.pwned=1>');
  await expect(app).toHaveTitle(/^<img src=x onerror=window\.pwned=1> · /);
  const link = (address: string, text: string): string => String.raw`\e]8;;${address}\e\\${text}\e]8;;\e\\ `;
  const bad = ['javascript:window.pwned=1', 'data:text/html,x', 'file:///etc/passwd'];
  const all =
    bad.map((address, at) => link(address, `bad${String(at)}`)).join('') + link('http://127.0.0.1:9/ok', 'good');
  await run(app, `clear; printf '${all}\\n'`, 'bad0 bad1 bad2 good');
  for (const [at] of bad.entries()) {
    await screen(app)
      .getByText(`bad${String(at)}`)
      .first()
      .click({ force: true });
  }
  await app.evaluate(() =>
    Object.assign(window, {
      opened: [],
      open: (...given: unknown[]) => void (window as unknown as { opened: unknown[] }).opened.push(given),
    }),
  );
  await screen(app).getByText('good', { exact: true }).first().hover({ force: true });
  await screen(app).getByText('good', { exact: true }).first().click({ force: true });
  await expect
    .poll(() => app.evaluate(() => (window as unknown as { opened: unknown[] }).opened))
    .toEqual([['http://127.0.0.1:9/ok', '_blank', 'noopener,noreferrer']]);
  expect(await app.evaluate(() => (window as unknown as { pwned?: number }).pwned)).toBeUndefined();
  expect(popups).toEqual([]);
  expect(await app.locator('img[src="x"]').count()).toBe(0);
});

test('tabs, splits, names and undo', async ({ app, server }) => {
  const session = await newSession(server);
  await openTerminal(app, session);
  await app.getByRole('button', { name: 'New terminal' }).click();
  await expect(app).toHaveURL(`/sessions/${session}/terminals/shell-2`);
  await expect(state(app, 'shell-2')).toHaveText('CONNECTED');
  await app.getByRole('button', { name: 'Split right' }).click();
  await expect(state(app, 'shell-3')).toHaveText('CONNECTED');
  await expect(screen(app, 'shell-3')).toContainText('$');
  await run(app, 'echo in-three', 'in-three', 'shell-3');
  expect((await lines(app, 'shell-2')).includes('in-three')).toBe(false);
  await expectAccessible(app);
  // The arrangement survives a reload.
  await app.reload();
  await expect(state(app, 'shell-3')).toHaveText('CONNECTED');
  await expect(state(app, 'shell-2')).toHaveText('CONNECTED');
  await app.getByRole('button', { name: 'main', exact: true }).click();
  await expect(state(app)).toBeVisible();
  await app.getByRole('button', { name: 'main', exact: true }).dblclick();
  await app.getByRole('textbox', { name: 'Label of main' }).fill('build');
  await app.keyboard.press('Enter');
  await expect(app.getByRole('button', { name: 'build', exact: true })).toBeVisible();
  await app.getByRole('button', { name: 'Close build' }).click();
  await expect(app.getByRole('button', { name: 'build', exact: true })).toBeHidden();
  await app.getByRole('button', { name: 'Undo' }).click();
  await expect(app.getByRole('button', { name: 'build', exact: true })).toBeVisible();
  await app.getByRole('button', { name: 'Close build' }).click();
  const running = async (): Promise<string[]> => {
    const { terminals } = (await server.api('GET', `/v1/sessions/${session}/terminals`)) as {
      terminals: { name: string; running: boolean }[];
    };
    return terminals.filter((one) => one.running).map((one) => one.name);
  };
  await expect.poll(running, { timeout: 30_000 }).toEqual(['shell-2', 'shell-3']);
});

test('a shell that ends says so, and a new one can be started', async ({ app, server }) => {
  await openTerminal(app, await newSession(server));
  await app.keyboard.type('exit 3');
  await app.keyboard.press('Enter');
  await expect(app.getByText('The shell has ended with 3.')).toBeVisible();
  await expect(state(app)).toHaveText('ENDED');
  await app.getByRole('button', { name: 'Start a new shell' }).click();
  await expect(state(app)).toHaveText('CONNECTED');
  await screen(app).click({ force: true });
  await run(app, 'echo new', 'new');
});

test('a session that does not exist is explained', async ({ app }) => {
  await app.goto('/sessions/ses_00000000000000000000000000000000/terminals/main');
  await expect(app.getByText('You cannot open this session').last()).toBeVisible();
  await expect(app.getByRole('link', { name: 'All sessions' })).toBeVisible();
  await expect(app.getByRole('button', { name: 'New terminal' })).toBeHidden();
});

test('a phone has the keys that its keyboard lacks', async ({
  app,
  server,
  browser,
}: {
  app: Page;
  server: TestServer;
  browser: Browser;
}) => {
  await expect(app.getByRole('navigation', { name: 'Main' })).toBeVisible();
  const context = await browser.newContext({
    baseURL: server.url,
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  const phone = await context.newPage();
  const check = watchErrors(phone);
  await phone.request.get(`${server.url}/login?token=${server.token}`, { maxRedirects: 0 });
  await prepare(phone);
  await openTerminal(phone, await newSession(server));
  const keys = phone.getByRole('toolbar', { name: 'Keys' });
  await run(phone, 'echo again', 'again');
  await keys.getByRole('button', { name: 'Up' }).tap();
  await expect.poll(async () => (await lines(phone)).at(-1)).toMatch(/echo again$/);
  await keys.getByRole('button', { name: 'Ctrl' }).tap();
  await expect(keys.getByRole('button', { name: 'Ctrl' })).toHaveAttribute('aria-pressed', 'true');
  await phone.keyboard.type('c');
  await expect(keys.getByRole('button', { name: 'Ctrl' })).toHaveAttribute('aria-pressed', 'false');
  await expect.poll(async () => (await lines(phone)).some((line) => line.endsWith('echo again^C'))).toBe(true);
  await phone.keyboard.type('unse');
  await keys.getByRole('button', { name: 'Tab', exact: true }).tap();
  await expect.poll(async () => (await lines(phone)).at(-1)).toMatch(/unset$/);
  await keys.getByRole('button', { name: '|' }).tap();
  await expect.poll(async () => (await lines(phone)).at(-1)).toMatch(/unset \|$/);
  check();
  await context.close();
});

test('a recording is replayed', async ({ app, server }) => {
  const started = (await server.api('POST', '/v1/executions', {
    shell: "printf 'first\\n'; sleep 3; printf 'second\\n'; exit 4",
    tty: { rows: 10, cols: 40 },
  })) as { id: string };
  await server.api('GET', `/v1/executions/${started.id}?wait=30s`);
  await app.goto(`/executions/${started.id}/replay`);
  const player = app.getByRole('region', { name: 'Recording' });
  await player.getByRole('button', { name: 'Play' }).click();
  await expect(player.locator('.xterm-rows')).toContainText('second');
  await expect(player.getByRole('button', { name: 'Play again' })).toBeVisible();
  await player.getByRole('slider', { name: 'Position' }).fill('0');
  await expect(player.locator('.xterm-rows')).not.toContainText('second');
  await player.getByRole('checkbox', { name: 'Skip pauses' }).uncheck();
  await expect(player.locator('.time')).toContainText(/\/ 0:0[3-9]/);
  await expectAccessible(app);
});
