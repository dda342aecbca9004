// Ports of a session: a program that listens is announced, and its preview is a page of another origin.
import { expect, expectAccessible, newPage, test } from './harness';
import type { TestServer } from './server.mjs';

/** A page that tries to reach what is not its own, and writes what it found. */
const PAGE = `<!doctype html><title>mine</title><h1>It works</h1><ul id="found"></ul><script>
const note = (name, value) => {
  const item = document.createElement('li');
  item.textContent = name + ': ' + value;
  document.getElementById('found').append(item);
};
const server = new URLSearchParams(location.search).get('server');
if (server) {
  note('cookie', JSON.stringify(document.cookie));
  try { note('parent', parent.document.title); } catch (error) { note('parent', error.name); }
  try { top.location = 'about:blank'; note('top', 'moved'); } catch (error) { note('top', error.name); }
  fetch(server + '/v1/me', { credentials: 'include' })
    .then(async (answer) => note('api', answer.status), (error) => note('api', error.name));
}
</script>`;

async function serving(server: TestServer): Promise<{ session: string; start: () => Promise<void> }> {
  const { id } = await server.api<{ id: string }>('POST', '/v1/sessions', {});
  const file = { session_id: id, path: 'index.html', content: PAGE };
  await server.api('POST', '/v1/sessions/files/write', file);
  const start = async (): Promise<void> => {
    await server.api('POST', `/v1/sessions/${id}/executions`, { argv: ['python3', '-m', 'http.server', '8000'] });
  };
  return { session: id, start };
}

test('a port that opens is announced and shown in the IDE', async ({ app, server }) => {
  const { session, start } = await serving(server);
  await app.goto(`/sessions/${session}`);
  await expect(app.getByRole('tree')).toBeVisible();
  await expect(app.getByRole('button', { name: 'Show port 8000' })).toHaveCount(0);
  await start();
  const toast = app.getByRole('listitem').filter({ hasText: 'Port 8000 is open' });
  await expect(toast).toBeVisible();
  await toast.getByRole('button', { name: 'Preview' }).click();
  const frame = app.frameLocator('iframe[title="Preview of port 8000"]');
  await expect(frame.getByRole('heading', { name: 'It works' })).toBeVisible();
  await expectAccessible(app);

  const path = app.getByRole('textbox', { name: 'Path' });
  await path.fill('missing');
  await path.press('Enter');
  await expect(frame.getByText('File not found')).toBeVisible();
  await expect(path).toHaveValue('/missing');
  await app.getByRole('button', { name: 'Close the preview' }).click();
  await expect(app.locator('iframe')).toHaveCount(0);
  await app.getByRole('button', { name: 'Show port 8000' }).click();
  await expect(frame.getByRole('heading', { name: 'It works' })).toBeVisible();
});

test('a preview reaches nothing of the app and of the person who opened it', async ({ browser, server }) => {
  // Not the page that fails on errors in the console: the attempts are reported there.
  const app = await newPage(browser, server, { signedIn: true });
  const { session, start } = await serving(server);
  await start();
  await app.goto(`/sessions/${session}`);
  await app.getByRole('button', { name: 'Show port 8000' }).click();
  const path = app.getByRole('textbox', { name: 'Path' });
  await path.fill(`/?server=${encodeURIComponent(server.url)}`);
  await path.press('Enter');
  const found = app.frameLocator('iframe[title="Preview of port 8000"]').getByRole('listitem');
  await expect(found.filter({ hasText: 'cookie: ""' })).toBeVisible();
  await expect(found.filter({ hasText: 'parent: SecurityError' })).toBeVisible();
  await expect(found.filter({ hasText: 'top: SecurityError' })).toBeVisible();
  // Refused by the browser, or as somebody who is not signed in.
  await expect(found.filter({ hasText: /api: (TypeError|401|403)/ })).toBeVisible();
  await expect(app.getByRole('tree')).toBeVisible();
  await app.context().close();
});

test('the address of a preview works in a browser without an account', async ({ app, browser, server }) => {
  const { session, start } = await serving(server);
  await start();
  await app.goto(`/sessions/${session}`);
  await app.getByRole('button', { name: 'Show port 8000' }).click();
  const address = await app.getByRole('link', { name: 'Open in a new tab' }).getAttribute('href');
  const guest = await newPage(browser, server, { signedIn: false });
  await guest.goto(address ?? '');
  await expect(guest.getByRole('heading', { name: 'It works' })).toBeVisible();
  expect(new URL(guest.url()).origin).not.toBe(new URL(server.url).origin);
  await guest.context().close();
});
