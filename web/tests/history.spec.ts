// The history: filters in the address, search, sparklines, comparison, run again, links for guests, delete with undo.
import { expect, expectAccessible, expectNoSidewaysScroll, newPage, test, type Page } from './harness';
import { cleanUp } from './lists';

interface Started {
  id: string;
  session_id: string;
}

const row = (page: Page, id: string): ReturnType<Page['locator']> => page.locator(`[data-row="${id}"]`);

async function act(page: Page, id: string, action: string): Promise<void> {
  await row(page, id)
    .getByRole('button', { name: /^Actions for/ })
    .click();
  await page.getByRole('menuitem', { name: action, exact: false }).first().click();
}

let session = '';
let good: Started;
let other: Started;
let bad: Started;
let terminal: Started;

// The time limit is for a machine that does other work at the same time.
test.describe.configure({ mode: 'serial', timeout: 150_000 });

test.beforeAll(async ({ server }) => {
  await cleanUp(server);
  session = ((await server.api('POST', '/v1/sessions', { name: 'work' })) as { id: string }).id;
  const start = async (body: object): Promise<Started> => {
    const started = (await server.api('POST', `/v1/sessions/${session}/executions`, body)) as Started;
    await server.api('GET', `/v1/executions/${started.id}?wait=20s&until=closed`);
    return started;
  };
  good = await start({ shell: 'for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done' });
  other = await start({ shell: 'for i in 1 2 three 4 5; do echo line $i; sleep 0.1; done' });
  bad = await start({ shell: 'echo "<b>broken</b>" >&2; echo "$WHY"; exit 3', env: { WHY: 'because' } });
  terminal = await start({ argv: ['echo', 'from a terminal'], tty: { rows: 24, cols: 80 } });
});

test('an execution says in words how it ended, with its duration and output over time', async ({ app }) => {
  await app.goto('/history');
  await expect(row(app, good.id)).toContainText('exited with 0');
  await expect(row(app, bad.id)).toContainText('exited with 3');
  await expect(row(app, bad.id)).toContainText('echo "<b>broken</b>"');
  await expect(row(app, good.id)).toContainText('work');
  await expect(row(app, good.id).locator('svg rect').first()).toBeVisible();
  await expect(row(app, good.id).locator('time')).toHaveAttribute('title', /^\d{4}-\d{2}-\d{2} /);
  await expectAccessible(app);
});

test('filters are in the address, and back and forward work', async ({ app }) => {
  await app.goto('/history');
  await app.getByLabel('State').selectOption('failed');
  await expect(row(app, bad.id)).toBeVisible();
  await expect(row(app, good.id)).toHaveCount(0);
  await expect(app).toHaveURL(/state=failed/);
  await app.goto('/history?kind=terminal');
  await expect(row(app, terminal.id)).toBeVisible();
  await expect(row(app, bad.id)).toHaveCount(0);
  await app.goBack();
  await expect(row(app, bad.id)).toBeVisible();
  await app.goto(`/history?session=${session}&state=succeeded`);
  await expect(row(app, good.id)).toBeVisible();
  await app.getByRole('button', { name: 'Remove filter Session: work' }).click();
  await expect(app).not.toHaveURL(/session=/);
});

test('searches commands', async ({ app }) => {
  await app.goto('/history');
  const asked = app.waitForRequest((request) => new URL(request.url()).searchParams.get('q') === 'THREE');
  await app.getByPlaceholder('Search commands and ids').fill('THREE');
  await asked;
  await expect(row(app, good.id)).toHaveCount(0);
  await expect(row(app, other.id)).toBeVisible();
  await expect(app).toHaveURL(/q=THREE/);
  await app.getByPlaceholder('Search commands and ids').fill('nothing has this');
  await expect(app.getByText('No execution matches')).toBeVisible();
  await app.getByRole('button', { name: 'Clear filters' }).click();
  await expect(row(app, good.id)).toBeVisible();
});

test('the owner is a column and a filter for operators', async ({ app, server }) => {
  await server.api('POST', '/v1/users', { name: 'bob', password: 'correct horse battery' });
  await app.goto('/history');
  await expect(app.getByRole('columnheader', { name: 'Owner' })).toBeVisible();
  await expect(row(app, good.id).getByRole('gridcell', { name: 'admin', exact: true })).toBeVisible();
  await app.goto('/history?owner=bob');
  await expect(app.getByText('No execution matches')).toBeVisible();
  await app.goto('/history?owner=admin');
  await expect(row(app, good.id)).toBeVisible();
});

test('compares two executions', async ({ app }) => {
  await app.goto('/history');
  await row(app, other.id).getByRole('checkbox').check();
  await row(app, good.id).getByRole('checkbox').check();
  await app.getByRole('button', { name: 'Compare', exact: true }).click();
  const dialog = app.getByRole('dialog', { name: 'Compare executions' });
  await expect(dialog.getByText('1 only in the first, 1 only in the second')).toBeVisible();
  await expect(dialog.getByText('line three')).toBeVisible();
  await expect(app).toHaveURL(/compare=exe_/);
  await app.keyboard.press('Escape');
  await expect(app).not.toHaveURL(/compare=/);
});

test('runs again in the same session, with its variables', async ({ app, server }) => {
  await app.goto('/history');
  await act(app, bad.id, 'Run again');
  await expect
    .poll(async () => {
      const { items } = (await server.api('GET', `/v1/executions?session_id=${session}&limit=1`)) as {
        items: { id: string; command: { shell?: string } }[];
      };
      return items[0]?.id !== terminal.id && items[0]?.command.shell?.includes('broken');
    })
    .toBe(true);
  await expect(
    app.locator('[data-row]').filter({ hasText: 'broken' }).filter({ hasText: 'exited with 3' }),
  ).toHaveCount(2);
  const { items } = await server.api<{ items: { id: string }[] }>(
    'GET',
    `/v1/executions?session_id=${session}&limit=1`,
  );
  await server.api('GET', `/v1/executions/${items[0]?.id}?wait=20s&until=closed`);
  const headers = { authorization: `Bearer ${server.token}` };
  const output = await fetch(`${server.direct}/v1/executions/${items[0]?.id}/output?stream=stdout`, { headers });
  expect(await output.text()).toBe('because\n');
});

test('a link for guests opens the output without an account', async ({ app, browser, server }) => {
  await app.goto('/history');
  await act(app, good.id, 'Copy link for guests');
  await expect(app.getByText(/Link copied/)).toBeVisible();
  const url = await app.evaluate(() => navigator.clipboard.readText());
  expect(url).toContain(`/executions/${good.id}#share=hws_`);
  const guest = await newPage(browser, server, { signedIn: false });
  await guest.goto(url);
  await expect(guest.getByText('line 3')).toBeVisible();
  await guest.context().close();
});

test('a terminal can be replayed', async ({ app }) => {
  await app.goto('/history');
  await act(app, terminal.id, 'Replay');
  await expect(app).toHaveURL(new RegExp(`/executions/${terminal.id}/replay`));
});

test('by keyboard: move, select, open', async ({ app }) => {
  await app.goto('/history');
  await expect(row(app, good.id)).toBeVisible();
  await app.keyboard.press('j');
  await app.keyboard.press('j');
  await expect(app.locator('[data-row]').nth(1)).toBeFocused();
  await app.keyboard.press('x');
  await expect(app.getByText('1 of 2 selected')).toBeVisible();
  await app.keyboard.press('k');
  await expect(app.locator('[data-row]').first()).toBeFocused();
  await app.keyboard.press('Enter');
  await expect(app).toHaveURL(/\/executions\/exe_/);
});

test('what runs appears by itself, and can be cancelled', async ({ app, server }) => {
  await app.goto('/history');
  await expect(row(app, good.id)).toBeVisible();
  const started = (await server.api('POST', '/v1/executions', { shell: 'sleep 600' })) as Started;
  await expect(row(app, started.id)).toContainText('running');
  await act(app, started.id, 'Cancel');
  await expect(row(app, started.id)).toContainText(/cancelled|killed/);
});

test('deletes with undo', async ({ app, server }) => {
  await app.goto('/history');
  await act(app, bad.id, 'Delete log');
  await expect(row(app, bad.id)).toHaveCount(0);
  await app.getByRole('button', { name: 'Undo' }).click();
  await expect(row(app, bad.id)).toBeVisible();
  await act(app, bad.id, 'Delete log');
  await expect(row(app, bad.id)).toHaveCount(0);
  await expect
    .poll(async () => server.api('GET', `/v1/executions/${bad.id}`).catch(() => 'gone'), { timeout: 20_000 })
    .toBe('gone');
});

test('a phone shows cards', async ({ app }) => {
  await app.setViewportSize({ width: 360, height: 740 });
  await app.goto('/history');
  await expect(row(app, good.id)).toBeVisible();
  await expectNoSidewaysScroll(app);
});

test('search and filters reach executions that are not on the first page', async ({ app, server }) => {
  const start = (): Promise<unknown> => server.api('POST', `/v1/sessions/${session}/executions`, { argv: ['true'] });
  for (let count = 0; count < 120; count += 1) await start();
  await app.goto('/history');
  await expect(app.getByRole('status').filter({ hasText: '100+ executions' })).toBeVisible();
  await app.getByPlaceholder('Search commands and ids').fill('in 1 2 three');
  await expect(row(app, other.id)).toBeVisible();
  await expect(app.getByRole('status').filter({ hasText: '1 execution' })).toBeVisible();
  await app.goto('/history?kind=terminal');
  await expect(row(app, terminal.id)).toBeVisible();
  await app.goto(`/history?q=${good.id.slice(0, 16)}`);
  await expect(row(app, good.id)).toBeVisible();
  await expect(app.getByPlaceholder('Search commands and ids')).toHaveValue(good.id.slice(0, 16));
});
