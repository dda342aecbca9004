// Sessions that a signed-in user cannot open: somebody else's, missing and ended ones are explained, with a way on.
import {
  expect,
  expectAccessible,
  expectNoSidewaysScroll,
  newPage,
  test as base,
  watchErrors,
  type Page,
} from './harness';
import { cleanUp } from './lists';

interface Created {
  id: string;
}

const PASSWORD = 'correct horse battery';

const test = base.extend<{ bob: Page }>({
  /** A page of a user who owns nothing here. */
  bob: async ({ browser, server }, use) => {
    const page = await newPage(browser, server, { signedIn: false });
    const check = watchErrors(page);
    await page.goto('/');
    await page.getByLabel('User name').fill('bob');
    await page.getByLabel('Password', { exact: true }).last().fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('navigation', { name: 'Main' })).toBeVisible();
    await use(page);
    check();
    await page.context().close();
  },
});

test.beforeAll(async ({ server }) => {
  await cleanUp(server);
  await server.api('POST', '/v1/users', { name: 'bob', password: PASSWORD });
});
test.afterAll(({ server }) => cleanUp(server));

const heading = (page: Page): ReturnType<Page['getByRole']> =>
  page.getByRole('heading', { name: 'You cannot open this session' });

test("somebody else's session says whom to ask, and opens once the owner has added the user", async ({
  bob,
  server,
}) => {
  const { id } = await server.api<Created>('POST', '/v1/sessions', { name: 'private plans' });
  await bob.goto(`/sessions/${id}`);
  await expect(heading(bob)).toBeAttached();
  await expect(bob).toHaveTitle(/You cannot open this session/);
  const help = bob.getByRole('region', { name: 'What to do' });
  await expect(help).toContainText('ask them to add you as a member');
  await expect(help).toContainText('Your name is bob.');
  // Nothing of the session is told.
  await expect(bob.locator('body')).not.toContainText('private plans');
  await expectAccessible(bob);
  await bob.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(bob);
  await bob.setViewportSize({ width: 1440, height: 900 });

  await bob.getByRole('button', { name: 'Try again' }).click();
  await expect(heading(bob)).toBeAttached();
  await server.api('PUT', `/v1/sessions/${id}/members/bob`, { role: 'editor' });
  await bob.getByRole('button', { name: 'Try again' }).click();
  await expect(bob.getByRole('tree')).toBeVisible();
  await expect(bob).toHaveTitle(/private plans/);
});

test('a session that does not exist leads back to the sessions', async ({ bob }) => {
  await bob.goto('/sessions/ses_00000000000000000000000000000000');
  await expect(heading(bob)).toBeAttached();
  await expect(bob.getByText('There is no session ses_00000000000000000000000000000000, or it')).toBeVisible();
  await bob.getByRole('link', { name: 'Shared with me' }).click();
  await expect(bob).toHaveURL(/\/sessions\?scope=shared$/);
  await bob.goBack();
  await bob.getByRole('link', { name: 'All sessions' }).click();
  await expect(bob).toHaveURL(/\/sessions$/);
});

test('an ended session says so, and leads to what it printed', async ({ app, server }) => {
  // The session of a one-shot execution ends with it.
  const execution = await server.api<Created & { session_id: string }>('POST', '/v1/executions', {
    shell: 'echo printed',
  });
  const id = execution.session_id;
  const stateOf = async (): Promise<string> => (await server.api<{ state: string }>('GET', `/v1/sessions/${id}`)).state;
  await expect.poll(stateOf).toBe('ended');
  await app.goto(`/sessions/${id}`);
  await expect(app.getByRole('heading', { name: 'This session has ended' })).toBeAttached();
  await app.getByRole('main').getByRole('link', { name: 'History' }).click();
  await expect(app).toHaveURL(new RegExp(`/history\\?session=${id}`));
});

test('a link for guests is used by a signed-in user only if they say so', async ({ bob, server }) => {
  const { id } = await server.api<Created>('POST', '/v1/sessions', { name: 'linked' });
  const link = await server.api<{ token: string }>('POST', `/v1/sessions/${id}/shares`, { access: 'read' });
  await bob.goto(`/sessions/${id}#share=${link.token}`);
  await expect(heading(bob)).toBeAttached();
  await expect(bob.getByRole('region', { name: 'What to do' })).toContainText('signs bob out of this browser');
  expect(await (await bob.request.get('/v1/me')).json()).toMatchObject({ owner: 'bob' });
  await bob.getByRole('button', { name: 'Open with the link' }).click();
  await expect(bob.getByRole('tree')).toBeVisible();
  // The token does not stay in the address.
  expect(bob.url()).not.toContain(link.token);

  // Another session is none that a guest can become a member of.
  const { id: other } = await server.api<Created>('POST', '/v1/sessions', {});
  await bob.goto(`/sessions/${other}`);
  await expect(bob.getByRole('region', { name: 'What to do' })).toContainText('Sign in with your own account');
});

test("somebody else's execution leads to the history", async ({ bob, server }) => {
  const { id } = await server.api<Created>('POST', '/v1/sessions', {});
  const execution = await server.api<Created>('POST', `/v1/sessions/${id}/executions`, { shell: 'echo secret' });
  await bob.goto(`/executions/${execution.id}`);
  await expect(bob.getByText('This execution does not exist')).toBeVisible();
  await bob.getByRole('main').getByRole('link', { name: 'History' }).click();
  await expect(bob).toHaveURL(/\/history$/);
});
