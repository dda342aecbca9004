// The page for operators: charts, users, tokens, use, audit log, server, doctor, configuration; and that others do not
// get it.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, expectAccessible, expectNoSidewaysScroll, newPage, test, type Page } from './harness';
import { cleanUp } from './lists';

const row = (page: Page, text: string): ReturnType<Page['getByRole']> =>
  page.getByRole('row').filter({ hasText: text });

// The time limit is for a machine that does other work at the same time.
test.describe.configure({ mode: 'serial', timeout: 150_000 });
test.beforeAll(({ server }) => cleanUp(server));

test('charts are live and share the pointer', async ({ app, server }) => {
  await server.api('POST', '/v1/sessions', { name: 'measured' });
  await app.goto('/admin');
  const sessions = app.getByRole('list', { name: 'Sessions' });
  await expect(sessions).toContainText('ready 1');
  // The second measurement gives rates.
  await expect(app.getByRole('list', { name: 'Requests' })).toContainText(/per s \d/);
  await app
    .locator('.plot')
    .nth(2)
    .hover({ position: { x: 300, y: 20 } });
  await expect(app.locator('.cursor')).toHaveCount(9);
  // A disk that is nearly full is a finding, and the disk is that of the machine which runs the tests.
  const findings = app.getByRole('list', { name: 'Findings' });
  await expect(app.getByText('Nothing to report.').or(findings)).toBeVisible();
  for (const finding of await findings.getByRole('listitem').allTextContents()) expect(finding).toContain('disk');
  await expectAccessible(app);
});

test('users: create, role, password, disable, delete with undo', async ({ app, browser, server }) => {
  await app.goto('/admin/users');
  await expect(app.getByText('No users yet')).toBeVisible();
  await app.getByRole('button', { name: 'New user' }).first().click();
  const dialog = app.getByRole('dialog', { name: 'New user' });
  await dialog.getByLabel('Name').fill('carol');
  await dialog.getByLabel('Password').fill('correct horse battery');
  await dialog.getByRole('button', { name: 'Create user' }).click();
  await expect(row(app, 'carol')).toContainText('Member');

  const act = async (action: string): Promise<void> => {
    await app.getByRole('button', { name: 'Actions for carol' }).click();
    await app.getByRole('menuitem', { name: action }).click();
  };
  await act('Change role');
  await app.getByRole('dialog').getByLabel('Role').selectOption('reader');
  await app.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(row(app, 'carol')).toContainText('Reader');

  await act('Set password');
  await app.getByRole('dialog').getByLabel('Password', { exact: true }).fill('another good password');
  await app.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(app.getByText('The password of carol was changed.')).toBeVisible();

  // Somebody who is not an operator does not get the page.
  const other = await newPage(browser, server, { signedIn: false });
  await other.goto('/admin');
  await other.getByLabel('User name').fill('carol');
  await other.getByLabel('Password', { exact: true }).last().fill('another good password');
  await other.getByRole('button', { name: 'Sign in' }).click();
  await expect(other.getByText('This page needs the role admin.')).toBeVisible();
  await other.context().close();

  await act('Disable');
  await expect(row(app, 'carol')).toContainText('disabled');
  await act('Delete user');
  await expect(row(app, 'carol')).toHaveCount(0);
  await app.getByRole('button', { name: 'Undo' }).click();
  await expect(row(app, 'carol')).toBeVisible();
});

test('tokens: create, copy once, revoke', async ({ app }) => {
  await app.goto('/admin/tokens');
  await app.getByRole('button', { name: 'New token' }).click();
  const dialog = app.getByRole('dialog');
  await dialog.getByLabel('Name').fill('scraper');
  await dialog.getByLabel('Role').selectOption('admin');
  await dialog.getByLabel('Scopes').fill('metrics:read');
  await dialog.getByLabel('Expires after').fill('30d');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  await expect(dialog.getByLabel('Your token')).toHaveValue(/^hw_/);
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await expect(row(app, 'scraper')).toContainText('metrics:read');
  await app.getByRole('button', { name: 'Revoke token scraper' }).click();
  await expect(row(app, 'scraper')).toHaveCount(0);
  await app.getByLabel('Show revoked and expired').check();
  await expect(row(app, 'scraper')).toContainText('revoked', { timeout: 20_000 });
});

test('use by owner', async ({ app }) => {
  await app.goto('/admin/usage');
  await expect(app.getByText(/^1 of 1,000$/)).toBeVisible();
  await expect(row(app, 'admin').getByRole('link', { name: 'admin' })).toBeVisible();
});

test('audit log: filters in the address, export', async ({ app }) => {
  await app.goto('/admin/audit');
  await expect(row(app, 'user.create').first()).toBeVisible();
  await app.getByLabel('Action').selectOption('user.create');
  await expect(app).toHaveURL(/action=user.create/);
  await expect(row(app, 'session.create')).toHaveCount(0);
  const download = app.waitForEvent('download');
  await app.getByRole('link', { name: 'Export' }).click();
  expect((await download).suggestedFilename()).toBe('audit.jsonl');
});

test('the server describes itself', async ({ app }) => {
  await app.goto('/admin/server');
  await expect(app.getByText('The store and the worker answer.')).toBeVisible();
  await expect(app.getByText('memory_bytes')).toBeVisible();
});

test('the doctor says what it found, and how to fix it', async ({ app, server }) => {
  const report = await server.api<{ checks: { name: string; status: string; detail: string; fix: string | null }[] }>(
    'GET',
    '/v1/doctor',
  );
  await app.goto('/admin/doctor');
  const checks = app.getByRole('list', { name: 'Checks' });
  await expect(checks.getByRole('listitem')).toHaveCount(report.checks.length, { timeout: 60_000 });
  await expect(app.getByText(/^Code can(not)? be run safely\.$/)).toBeVisible();
  for (const { name, status, detail, fix } of report.checks.filter(({ name }) =>
    /^(kernel|seccomp|language)/.test(name),
  )) {
    const entry = checks.getByRole('listitem').filter({ has: app.getByText(name, { exact: true }) });
    // The state is a word beside an icon, not a colour alone.
    await expect(entry.getByText(status, { exact: true })).toBeVisible();
    await expect(entry.locator('svg').first()).toBeVisible();
    await expect(entry).toContainText(detail);
    if (fix) await expect(entry).toContainText(`Fix: ${fix}`);
  }
  await expectAccessible(app);

  // A host where something is wrong, as the server would report it.
  await app.route('**/v1/doctor', (route) =>
    route.fulfill({
      json: {
        ok: false,
        checks: [
          { name: 'kernel', ok: true, status: 'ok', detail: 'Linux 6.1', fix: null },
          { name: 'user namespace', ok: false, status: 'failed', detail: 'not allowed', fix: 'sysctl -w user.max=1' },
        ],
      },
    }),
  );
  await app.getByRole('button', { name: 'Check again' }).click();
  await expect(app.getByText('Code cannot be run safely.')).toBeVisible();
  await expect(checks.getByRole('listitem').first()).toContainText('user namespace');
  await app.getByRole('button', { name: 'Copy the fix of user namespace' }).click();
  expect(await app.evaluate(() => navigator.clipboard.readText())).toBe('sysctl -w user.max=1');
  await app.getByLabel('Show').selectOption('findings');
  await expect(checks.getByRole('listitem')).toHaveCount(1);
  await expect(app).toHaveURL(/show=findings/);
  await expectAccessible(app);
});

test('the configuration is in the page, without secrets', async ({ app, server }) => {
  const file = join(server.data, 'headwater.toml');
  await writeFile(file, '[packages]\npython_index = "https://ann:hunter2@index.example/simple"\n');
  await server.stop();
  await server.start();
  try {
    const answer = app.waitForResponse((response) => response.url().endsWith('/v1/settings'));
    await app.goto('/admin/configuration');
    expect(await (await answer).text()).not.toContain('hunter2');
    const index = row(app, 'packages.python_index');
    await expect(index).toContainText('https://***@index.example/simple');
    await expect(index.getByRole('cell').nth(2)).toHaveText('file');
    await expect(row(app, 'server.listen').getByRole('cell').nth(2)).toHaveText('flag');
    await expect(row(app, 'limits.wall').first()).toContainText('not set');
    await expect(app.locator('body')).not.toContainText('hunter2');
    await expectAccessible(app);

    await app.getByRole('searchbox', { name: 'Search settings' }).fill('PYTHON index');
    await expect(app).toHaveURL(/q=PYTHON/);
    await expect(app.getByRole('row')).toHaveCount(2);
    await expect(app.getByText(/^1 of \d+ settings$/)).toBeVisible();
    await app.getByRole('searchbox').fill('no such thing');
    await expect(app.getByText('No setting matches')).toBeVisible();
    await app.getByRole('button', { name: 'Show all settings' }).click();
    await expect(row(app, 'limits.memory')).not.toHaveCount(0);
    await app.getByLabel('Show').selectOption('changed');
    await expect(row(app, 'limits.memory')).toHaveCount(0);
    await expect(index).toBeVisible();
  } finally {
    await rm(file);
    await server.stop();
    await server.start();
  }
});

test('a phone shows every tab', async ({ app }) => {
  await app.setViewportSize({ width: 360, height: 740 });
  for (const [tab, text] of [
    ['', 'Requests'],
    ['users', 'carol'],
    ['tokens', 'New token'],
    ['usage', 'By owner'],
    ['audit', 'user.create'],
    ['server', 'Limits'],
    ['doctor', 'language python'],
    ['configuration', 'limits.memory'],
  ] as const) {
    await app.goto(`/admin/${tab}`);
    await expect(app.getByText(text).last()).toBeVisible({ timeout: 60_000 });
    await expectNoSidewaysScroll(app);
    // The row of tabs is wider than the window, and shows the current one.
    await expect(app.getByRole('navigation', { name: 'Admin' }).locator('[aria-current=page]')).toBeInViewport({
      ratio: 0.95,
    });
  }
});
