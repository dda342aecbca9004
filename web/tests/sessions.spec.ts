// The list of sessions: create, rename, share, snapshots, fork, hibernate, end with undo, search, keyboard, phones.
import { expect, expectAccessible, expectNoSidewaysScroll, newPage, test, type Page } from './harness';
import { cleanUp } from './lists';

const row = (page: Page, name: string): ReturnType<Page['getByRole']> =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });

async function act(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

// The time limit is for a machine that does other work at the same time.
test.describe.configure({ mode: 'serial', timeout: 150_000 });
test.beforeAll(({ server }) => cleanUp(server));

test('an empty list says what it is for, and creates a session with limits', async ({ app, server }) => {
  await app.goto('/sessions');
  await expect(app.getByText('No sessions yet')).toBeVisible();
  await app.getByRole('button', { name: 'New session' }).last().click();
  const dialog = app.getByRole('dialog', { name: 'New session' });
  await dialog.getByLabel('Name', { exact: true }).fill('alpha');
  await dialog.getByRole('radio', { name: /Custom/ }).check();
  await dialog.getByLabel('Memory').fill('much');
  await dialog.getByRole('button', { name: 'Create session' }).click();
  await expect(dialog.getByText('A size such as 512 MiB')).toBeVisible();
  await dialog.getByLabel('Memory').fill('512 MiB');
  await dialog.getByRole('button', { name: 'Add variable' }).click();
  await dialog.getByLabel('Name', { exact: true }).last().fill('MODE');
  await dialog.getByLabel('Value').fill('test');
  await dialog.getByRole('button', { name: 'Create session' }).click();
  await expect(app).toHaveURL(/\/sessions\/ses_[0-9a-f]{32}/);

  const { items } = (await server.api('GET', '/v1/sessions?name=alpha')) as { items: { id: string }[] };
  const made = (await server.api('GET', `/v1/sessions/${items[0]?.id}`)) as {
    limits: { memory_bytes: number };
    env: Record<string, string>;
  };
  expect(made.limits.memory_bytes).toBe(512 * 1024 * 1024);
  expect(made.env['MODE']).toBe('test');
});

test('a session begins with the files of a template and limits of its own', async ({ app, server }) => {
  await app.goto('/sessions?new');
  const dialog = app.getByRole('dialog', { name: 'New session' });
  await dialog.getByLabel('Template').selectOption({ label: 'Python' });
  await expect(dialog.getByText('A script and a test')).toBeVisible();
  await dialog.getByRole('radio', { name: /Small/ }).check();
  await dialog.getByRole('button', { name: 'Create session' }).click();
  await expect(app).toHaveURL(/\/sessions\/ses_[0-9a-f]{32}\?file=main\.py/);
  const id = new URL(app.url()).pathname.split('/')[2] ?? '';
  const { limits } = await server.api<{ limits: { memory_bytes: number } }>('GET', `/v1/sessions/${id}`);
  expect(limits.memory_bytes).toBe(512 * 1024 * 1024);
  const files = await server.api<{ items: { path: string }[] }>('GET', `/v1/sessions/${id}/files`);
  expect(files.items.map(({ path }) => path).sort()).toEqual(['main.py', 'test_main.py']);
  await server.api('DELETE', `/v1/sessions/${id}`);
});

test('the row shows state, use, limits and the last activity, and is accessible', async ({ app, server }) => {
  const started = (await server.api('POST', '/v1/sessions/alpha/executions', { shell: 'true' })) as { id: string };
  await server.api('GET', `/v1/executions/${started.id}?wait=20s&until=closed`);
  const { last_activity_at } = (await server.api('GET', '/v1/sessions/alpha')) as { last_activity_at: string };
  await app.goto('/sessions');
  await expect(row(app, 'alpha').getByText('Ready')).toBeVisible();
  await expect(row(app, 'alpha').locator('time')).toHaveAttribute('datetime', last_activity_at);
  await expect(row(app, 'alpha').getByText('/ 512 MiB')).toBeVisible();
  await expectAccessible(app);
});

test('renames', async ({ app }) => {
  await app.goto('/sessions');
  await act(app, 'alpha', 'Rename');
  const dialog = app.getByRole('dialog', { name: 'Rename session' });
  await dialog.getByLabel('Name').fill('<img src=x onerror=alert(1)>');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(row(app, '<img src=x onerror=alert(1)>')).toBeVisible();
  await expect(app.locator('[role=grid] img')).toHaveCount(0);
  await act(app, '<img src=x onerror=alert(1)>', 'Rename');
  await dialog.getByLabel('Name').fill('beta');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(row(app, 'beta')).toBeVisible();
});

test('shares with a member and by a link that can be revoked', async ({ app, server }) => {
  await server.api('POST', '/v1/users', { name: 'bob', password: 'correct horse battery' });
  await app.goto('/sessions');
  await act(app, 'beta', 'Share');
  const dialog = app.getByRole('dialog', { name: 'Share beta' });
  await dialog.getByLabel('User name').fill('bob');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(dialog.getByRole('button', { name: 'Remove bob' })).toBeVisible();
  await dialog.getByLabel('Role: bob').selectOption('editor');
  await dialog.getByRole('button', { name: 'Create link' }).click();
  await expect(dialog.getByLabel('Copy link').first()).toHaveValue(/#share=hws_/);
  await dialog.getByRole('button', { name: /Revoke link/ }).click();
  await expect(dialog.getByText(/· revoked/)).toBeVisible();
  await dialog.getByRole('button', { name: 'Remove bob' }).click();
  await expect(dialog.getByText('No members yet.')).toBeVisible();
});

test('a link opens the session in a browser without an account', async ({ app, browser, server }) => {
  await app.goto('/sessions');
  await act(app, 'beta', 'Share');
  const dialog = app.getByRole('dialog', { name: 'Share beta' });
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const url = await dialog.getByLabel('Copy link').first().inputValue();
  const guest = await newPage(browser, server, { signedIn: false });
  await guest.goto(url);
  await expect(guest).toHaveTitle(/beta/);
  await guest.context().close();
});

test('snapshots: create, restore, fork, delete with undo', async ({ app }) => {
  await app.goto('/sessions');
  await act(app, 'beta', 'Snapshots');
  const dialog = app.getByRole('dialog', { name: 'Snapshots of beta' });
  await dialog.getByLabel('Name of the snapshot').fill('first');
  await dialog.getByRole('button', { name: 'Create snapshot' }).click();
  await dialog.getByRole('button', { name: 'Restore first', exact: true }).click();
  await dialog.getByRole('button', { name: 'Replace the workspace' }).click();
  await expect(dialog.getByText('Before restoring first')).toBeVisible();
  await dialog.getByRole('button', { name: 'Delete snapshot first', exact: true }).click();
  await dialog.getByRole('button', { name: 'Undo' }).click();
  await dialog.getByRole('button', { name: 'Delete snapshot Before restoring first' }).click();
  await expect(dialog.getByText('Before restoring first')).toHaveCount(0, { timeout: 20_000 });
  await dialog.getByRole('button', { name: 'Fork from first', exact: true }).click();
  const fork = app.getByRole('dialog', { name: 'Fork beta' });
  await expect(fork.getByLabel('Begin with')).not.toHaveValue('');
  await fork.getByLabel('Name').fill('gamma');
  await fork.getByRole('button', { name: 'Fork', exact: true }).click();
  await expect(row(app, 'gamma')).toBeVisible();
});

test('hibernates', async ({ app }) => {
  await app.goto('/sessions');
  await act(app, 'gamma', 'Hibernate');
  await expect(row(app, 'gamma').getByText('Hibernated')).toBeVisible();
  await app.getByLabel('State').selectOption('hibernated');
  await expect(app).toHaveURL(/state=hibernated/);
  await expect(row(app, 'beta')).toHaveCount(0);
  await app.goBack();
});

test('ends with undo: the request is sent when the toast has gone', async ({ app, server }) => {
  const exists = async (): Promise<boolean> =>
    ((await server.api('GET', '/v1/sessions?name=gamma')) as { items: unknown[] }).items.length > 0;
  await app.goto('/sessions');
  await act(app, 'gamma', 'End session');
  await expect(row(app, 'gamma')).toHaveCount(0);
  await app.getByRole('button', { name: 'Undo' }).click();
  await expect(row(app, 'gamma')).toBeVisible();
  expect(await exists()).toBe(true);
  await act(app, 'gamma', 'End session');
  await expect(row(app, 'gamma')).toHaveCount(0);
  expect(await exists()).toBe(true);
  await expect.poll(exists, { timeout: 20_000 }).toBe(false);
});

test('ends at once when the page goes away', async ({ app, server }) => {
  await server.api('POST', '/v1/sessions', { name: 'delta' });
  await app.goto('/sessions');
  await act(app, 'delta', 'End session');
  await expect(row(app, 'delta')).toHaveCount(0);
  await app.goto('about:blank');
  await expect
    .poll(async () => ((await server.api('GET', '/v1/sessions?name=delta')) as { items: unknown[] }).items.length, {
      timeout: 4000,
    })
    .toBe(0);
});

test('many sessions: virtual rows, search, keyboard', async ({ app, server }) => {
  for (let at = 0; at < 60; at += 1) await server.api('POST', '/v1/sessions', { name: `many-${at}` });
  await app.goto('/sessions');
  await expect(row(app, 'many-59')).toBeVisible();
  expect(await app.locator('[data-row]').count()).toBeLessThan(45);
  await app.keyboard.press('j');
  await expect(row(app, 'many-59')).toBeFocused();
  await app.keyboard.press('ArrowDown');
  await expect(row(app, 'many-58')).toBeFocused();
  await app.keyboard.press('End');
  await expect(row(app, 'beta')).toBeFocused();
  await app.keyboard.press('/');
  await app.keyboard.type('many-7');
  await expect(app.getByText('1 session', { exact: true })).toBeVisible();
  await expect(app).toHaveURL(/q=many-7/);
  await app.keyboard.press('Enter');
  await app.keyboard.press('j');
  await app.keyboard.press('Enter');
  await expect(app).toHaveURL(/\/sessions\/ses_/);
});

test('a phone shows cards', async ({ app }) => {
  await app.setViewportSize({ width: 360, height: 740 });
  await app.goto('/sessions');
  await expect(row(app, 'many-59')).toBeVisible();
  await expectNoSidewaysScroll(app);
});

test('an error has its request id', async ({ app }) => {
  await app.route('**/v1/sessions?*', (route) =>
    route.fulfill({
      status: 500,
      contentType: 'application/json',
      body: JSON.stringify({ error: { code: 'internal', message: 'broken', request_id: 'req_test' } }),
    }),
  );
  await app.goto('/sessions');
  await expect(app.getByRole('alert')).toContainText('req_test');
  await app.unroute('**/v1/sessions?*');
  await app.getByRole('button', { name: 'Try again' }).click();
  await expect(row(app, 'many-59')).toBeVisible();
});
