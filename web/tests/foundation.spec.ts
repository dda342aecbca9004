// Sign-in, the start page, the palette, shortcuts, settings: what everybody meets in the first minutes.
import { expect, expectNoSidewaysScroll, newPage, signIn, test } from './harness';

test.describe('sign in', () => {
  test('by the printed address', async ({ guest, server }) => {
    await guest.goto(`${server.url}/login?token=${server.token}`);
    await guest.goto(server.url);
    await expect(guest.getByRole('button', { name: 'Run', exact: true })).toBeVisible();
  });

  test('by a token, and a wrong one is refused in words', async ({ guest, server }) => {
    await guest.goto(`${server.url}/settings`);
    await guest.getByText('Token', { exact: true }).click();
    await guest.getByLabel('API token').fill('hw_wrong');
    await guest.getByRole('button', { name: 'Sign in' }).click();
    await expect(guest.getByRole('alert')).toContainText('not valid');
    await guest.getByLabel('API token').fill(server.token);
    await guest.keyboard.press('Enter');
    // It continues where the person wanted to go.
    await expect(guest.getByRole('heading', { name: 'Settings' })).toBeVisible();
    await expect(guest).toHaveTitle('Appearance · Settings · Headwater');
  });

  test('by password, and out again', async ({ guest, server }) => {
    await server.api('POST', '/v1/users', { name: 'ann', password: 'correct horse battery', role: 'member' });
    await guest.goto(server.url);
    await guest.getByLabel('User name').fill('ann');
    await guest.getByLabel('Password', { exact: true }).last().fill('wrong password');
    await guest.getByRole('button', { name: 'Sign in' }).click();
    await expect(guest.getByRole('alert')).toContainText('wrong');
    await guest.getByLabel('Password', { exact: true }).last().fill('correct horse battery');
    await guest.getByRole('button', { name: 'Sign in' }).click();
    await expect(guest.getByRole('button', { name: 'Run', exact: true })).toBeVisible();
    // A member sees no page for operators.
    await expect(guest.getByRole('link', { name: 'Admin' })).toHaveCount(0);
    await guest.getByRole('button', { name: 'Account' }).click();
    await guest.getByRole('menuitem', { name: 'Sign out' }).click();
    await expect(guest.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  });
});

test.describe('start page', () => {
  test('runs the sample at the first click', async ({ app }) => {
    await app.getByRole('button', { name: 'Run', exact: true }).click();
    const output = app.getByTestId('home-output');
    await expect(output.getByText('step 1 of 5')).toBeVisible();
    await expect(output.getByText('done', { exact: true })).toBeVisible();
    await expect(app.getByRole('list', { name: 'Recent executions' }).getByRole('listitem').first()).toBeVisible();
  });

  test('only installed languages can be chosen, and code is kept', async ({ app }) => {
    const languages = app.getByLabel('Language', { exact: true });
    await expect(languages.locator('option:not([disabled])', { hasText: 'Bash' })).toHaveCount(1);
    for (const option of await languages.locator('option', { hasText: 'not installed' }).all()) {
      expect(await option.isDisabled()).toBe(true);
    }
    await languages.selectOption('bash');
    await app.getByLabel('Code').fill('echo "kept $((20 + 3))"');
    await app.reload();
    await expect(languages).toHaveValue('bash');
    await expect(app.getByLabel('Code')).toHaveValue('echo "kept $((20 + 3))"');
    await app.getByLabel('Code').press('Control+Enter');
    await expect(app.getByTestId('home-output').getByText('kept 23')).toBeVisible();
  });

  test('stops what runs, and the icon of the tab shows it', async ({ app }) => {
    await app.getByLabel('Language', { exact: true }).selectOption('bash');
    await app.getByLabel('Code').fill('echo started; sleep 600');
    await app.getByRole('button', { name: 'Run', exact: true }).click();
    await expect(app.getByTestId('home-output').getByText('started', { exact: true })).toBeVisible();
    await expect(app.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon-running.svg');
    await app.getByRole('button', { name: 'Stop' }).first().click();
    await expect(app.getByTestId('home-output')).toContainText(/cancelled/i);
    await expect(app.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon.svg');
  });

  test('by keyboard alone: choose, type, run, open', async ({ app }) => {
    await expect(app.getByLabel('Code')).toBeFocused();
    await app.keyboard.press('Control+A');
    await app.keyboard.type('print(6 * 7)');
    await app.keyboard.press('Control+Enter');
    await expect(app.getByTestId('home-output').getByText('42', { exact: true })).toBeVisible();
    await app.keyboard.press('Escape');
    await app.keyboard.press('Tab');
    await expect(app.getByLabel('Code')).not.toBeFocused();
    const open = app.getByRole('link', { name: 'Open' });
    await open.focus();
    await app.keyboard.press('Enter');
    await expect(app).toHaveURL(/\/executions\/exe_/);
    await app.goBack();
    await expect(app.getByLabel('Code')).toHaveValue('print(6 * 7)');
  });

  test('a template becomes a session with files', async ({ app, server }) => {
    await app.getByRole('button', { name: /^Python/ }).click();
    await expect(app).toHaveURL(/\/sessions\/ses_\w+\?file=main\.py/);
    const session = new URL(app.url()).pathname.split('/')[2] ?? '';
    const files = await server.api<{ items: { path: string }[] }>('GET', `/v1/sessions/${session}/files`);
    expect(files.items.map(({ path }) => path).sort()).toEqual(['main.py', 'test_main.py']);
    // The name is in use now.
    await app.goto('/');
    await app.getByRole('button', { name: /^Python/ }).click();
    await expect(app).toHaveURL(/\/sessions\/ses_\w+\?file=main\.py/);
    const second = new URL(app.url()).pathname.split('/')[2] ?? '';
    expect((await server.api<{ name: string }>('GET', `/v1/sessions/${second}`)).name).toBe('Python 2');
  });

  test('on a phone', async ({ app }) => {
    await app.setViewportSize({ width: 360, height: 740 });
    await expectNoSidewaysScroll(app);
    await app.getByRole('button', { name: 'Run', exact: true }).click();
    await expect(app.getByTestId('home-output').getByText('done', { exact: true })).toBeVisible();
    await expectNoSidewaysScroll(app);
    await app.getByRole('link', { name: 'Sessions', exact: true }).click();
    await expect(app).toHaveURL(/\/sessions$/);
  });
});

test.describe('palette and shortcuts', () => {
  test('goes to a page, and Esc closes', async ({ app }) => {
    await app.keyboard.press('Control+k');
    const palette = app.getByRole('dialog', { name: 'Commands' });
    await expect(palette).toBeVisible();
    await app.keyboard.press('Escape');
    await expect(palette).toBeHidden();
    await app.keyboard.press('Control+k');
    await app.keyboard.type('api tok');
    await expect(palette.getByRole('option', { name: 'API tokens' })).toHaveAttribute('aria-selected', 'true');
    await app.keyboard.press('Enter');
    await expect(app).toHaveURL(/\/settings\/tokens$/);
  });

  test('changes the theme', async ({ app }) => {
    await app.keyboard.press('Control+k');
    await app.keyboard.type('theme dark');
    await app.keyboard.press('Enter');
    await expect(app.locator('html')).toHaveAttribute('data-theme', 'dark');
    await app.reload();
    await expect(app.locator('html')).toHaveAttribute('data-theme', 'dark');
  });

  test('finds a session by its name', async ({ app, server }) => {
    const session = await server.api<{ id: string }>('POST', '/v1/sessions', { name: 'palette target' });
    await app.reload();
    await app.getByRole('button', { name: 'Commands' }).click();
    await app.keyboard.type('palette tar');
    await app.getByRole('option', { name: /palette target/ }).click();
    await expect(app).toHaveURL(new RegExp(`/sessions/${session.id}`));
  });

  test('single keys act outside of fields only', async ({ app }) => {
    await app.getByLabel('Code').fill('');
    await app.getByLabel('Code').pressSequentially('gs?');
    await expect(app.getByLabel('Code')).toHaveValue('gs?');
    await app.getByRole('link', { name: 'Home' }).focus();
    await app.keyboard.press('?');
    await expect(app.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
    await app.keyboard.press('Escape');
    await app.getByRole('link', { name: 'Home' }).focus();
    await app.keyboard.press('g');
    await app.keyboard.press('s');
    await expect(app).toHaveURL(/\/settings$/);
  });
});

test.describe('settings', () => {
  test('theme and size are kept', async ({ app, server }) => {
    await signIn(app, server, '/settings');
    await app.getByText('Dark', { exact: true }).click();
    await expect(app.locator('html')).toHaveAttribute('data-theme', 'dark');
    await app.getByLabel('Size of code, output and terminals').selectOption('16');
    await app.reload();
    await expect(app.locator('html')).toHaveAttribute('data-theme', 'dark');
    expect(await app.locator('html').evaluate((root) => root.style.getPropertyValue('--code-size'))).toBe('16px');
  });

  test('a token is created, shown once, works, and is revoked', async ({ app, server }) => {
    await signIn(app, server, '/settings/tokens');
    await app.getByRole('button', { name: 'Create a token' }).click();
    const dialog = app.getByRole('dialog', { name: 'Create a token' });
    await dialog.getByLabel('Name').fill('for a test');
    await dialog.getByText('Only this').click();
    await expect(dialog.getByRole('button', { name: 'Create a token' })).toBeDisabled();
    await dialog.getByLabel('Executions').selectOption('read');
    await dialog.getByRole('button', { name: 'Create a token' }).click();
    const token = await dialog.getByTestId('new-token').innerText();
    await dialog.getByRole('button', { name: 'Done' }).click();

    const call = (path: string): Promise<number> =>
      fetch(server.direct + path, { headers: { authorization: `Bearer ${token}` } }).then(({ status }) => status);
    expect(await call('/v1/executions')).toBe(200);
    expect(await call('/v1/sessions')).toBe(403);

    const row = app.getByRole('row', { name: /for a test/ });
    await expect(row).toContainText('executions:read');
    await row.getByRole('button', { name: 'Revoke' }).click();
    await app.getByRole('dialog', { name: 'Revoke this token?' }).getByRole('button', { name: 'Revoke' }).click();
    await expect(row).toHaveCount(0);
    await expect.poll(() => call('/v1/executions')).toBe(401);
  });
});

test('an address that means nothing says so', async ({ app, server }) => {
  await app.goto(`${server.url}/nowhere/at/all`);
  await expect(app.getByRole('heading', { name: 'There is nothing here' })).toBeAttached();
  await app.getByRole('link', { name: 'Go to the start page' }).click();
  await expect(app.getByRole('button', { name: 'Run', exact: true })).toBeVisible();
});

test('a part that cannot be loaded says so and is there after a reload', async ({ browser, server }) => {
  const page = await newPage(browser, server, { signedIn: false });
  await page.route(/RunOutput-.*\.js/, (route) => route.abort());
  await signIn(page, server);
  const toast = page.getByRole('listitem').filter({ hasText: 'A part of this page could not be loaded.' });
  await expect(toast).toBeVisible();
  await page.unroute(/RunOutput-.*\.js/);
  await toast.getByRole('button', { name: 'Load it again' }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByTestId('home-output').getByText('step 1 of 5')).toBeVisible();
  await page.context().close();
});

test('the connection state appears while the server is away, and goes by itself', async ({ app, server }) => {
  // The parts that Run needs are loaded.
  await app.waitForLoadState('networkidle');
  await server.stop('SIGKILL');
  try {
    await expect(app.getByText(/Trying (again|now)/)).toBeVisible({ timeout: 30_000 });
  } finally {
    await server.start();
  }
  await expect(app.locator('[data-connection=live]')).toBeAttached({ timeout: 30_000 });
  await app.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(app.getByTestId('home-output').getByText('step 1 of 5')).toBeVisible();
});
