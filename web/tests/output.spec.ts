// The output view and the page of an execution, against the real server.
import { expect, expectAccessible, expectNoSidewaysScroll, newPage, test, watchErrors, type Page } from './harness';
import type { TestServer } from './server.mjs';

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 120_000 });

interface Started {
  id: string;
  session_id: string;
}

function shell(server: TestServer, command: string, more: object = {}): Promise<Started> {
  return server.api<Started>('POST', '/v1/executions', { shell: command, ...more });
}

function python(server: TestServer, code: string, more: object = {}): Promise<Started> {
  return server.api<Started>('POST', '/v1/executions', { language: 'python', code, ...more });
}

/** Lets a program go on that waits for a line of input. */
async function go(server: TestServer, id: string, text = '\n'): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}` };
  const response = await fetch(`${server.direct}/v1/executions/${id}/stdin`, { method: 'POST', headers, body: text });
  expect(response.status).toBe(204);
}

const log = (page: Page) => page.getByRole('log');
const row = (page: Page, text: string | RegExp) => page.locator('[data-row] .text').filter({ hasText: text });

/** Waits until the page has the whole log, and returns the texts of all rows, by scrolling through them. */
async function allLines(page: Page): Promise<string[]> {
  await expect(page.locator('[role=log][data-phase=closed]')).toBeVisible({ timeout: 60_000 });
  return page.evaluate(async () => {
    const box = document.querySelector<HTMLElement>('[role=log]');
    if (!box) throw new Error('no log');
    const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));
    const lines: string[] = [];
    const count = Number(box.dataset['lines']);
    box.scrollTop = 0;
    while (lines.filter((line) => line !== undefined).length < count) {
      await frame();
      await frame();
      for (const element of box.querySelectorAll<HTMLElement>('[data-row]')) {
        const index = Number(element.dataset['row']);
        if (index >= 0 && !element.classList.contains('loading')) {
          lines[index] = element.querySelector('.text')?.textContent ?? '';
        }
      }
      const before = box.scrollTop;
      box.scrollTop += box.clientHeight / 2;
      if (box.scrollTop === before && lines.filter((line) => line !== undefined).length < count) {
        throw new Error(`${lines.length} of ${count} lines`);
      }
    }
    return lines;
  });
}

test('shows live output in order, tells stderr apart, and says how it ended', async ({ app, server }) => {
  const { id } = await shell(
    server,
    `echo first; read x; echo "second $x"; read x; echo oops >&2; read x; printf '10%%\\r55%%\\r100%%\\n'; printf '\\033[1;32mgreen\\033[0m\\n'; exit 3`,
    { stdin: 'open' },
  );
  await app.goto(`/executions/${id}`);
  await expect(row(app, 'first')).toBeVisible();
  await expect(app.locator('[data-state=running]').first()).toBeVisible();
  await go(server, id, 'go\n');
  await expect(row(app, 'second go')).toBeVisible();
  await go(server, id);
  await expect(app.locator('[data-row].stderr')).toHaveText(/oops/);
  await go(server, id);
  await expect(app.locator('header [data-exit]')).toHaveText(/^exited with 3 after /);
  await expect(app.locator('.row.end')).toHaveText(/exited with 3 after/);
  expect(await allLines(app)).toEqual(['first', 'second go', 'oops', '100%', 'green']);
  await expect(row(app, 'green').locator('span')).toHaveAttribute('style', /--ansi-2/);
  await expectAccessible(app);
});

test('sends input, cancels and then kills', async ({ app, server }) => {
  const { id } = await shell(
    server,
    `trap '' TERM; while read line; do echo "got $line"; done; while :; do sleep 0.1; done`,
    {
      stdin: 'open',
      grace_ms: 600_000,
    },
  );
  await app.goto(`/executions/${id}`);
  const input = app.getByLabel('Standard input');
  await input.fill('hello');
  await input.press('Enter');
  await expect(row(app, 'got hello')).toBeVisible();
  await app.getByRole('button', { name: 'End input' }).click();
  await expect(input).toBeHidden();
  await app.getByRole('button', { name: 'Cancel' }).click();
  await app.getByRole('button', { name: 'Kill' }).click();
  await expect(app.locator('header [data-exit]')).toHaveText(/^cancelled after /);
});

test('continues after a reload and after the server was killed, with every line once', async ({ app, server }) => {
  test.setTimeout(120_000);
  const { id } = await python(
    server,
    'import time\nfor i in range(1500):\n  print("line", i, flush=True)\n  if i % 10 == 0: time.sleep(0.05)',
  );
  await app.goto(`/executions/${id}`);
  await expect(row(app, /^line \d\d/).first()).toBeVisible();
  await app.reload();
  await expect(row(app, /^line \d\d/).first()).toBeVisible();
  await server.stop('SIGKILL');
  await expect(app.getByText('The connection was lost')).toBeVisible();
  await server.start();
  await expect(app.locator('header [data-exit]')).toHaveText(/^exited with 0/, { timeout: 60_000 });
  expect(await allLines(app)).toEqual(Array.from({ length: 1500 }, (_, i) => `line ${i}`));
});

test('a page that draws as soon as it begins shows the end of what a quiet program has printed', async ({
  app,
  server,
}) => {
  const { id } = await shell(server, 'seq 1 500; read x', { stdin: 'open' });
  await app.addInitScript(() => {
    performance.now = () => 1;
  });
  await app.goto(`/executions/${id}`);
  await expect(row(app, /^500$/)).toBeVisible();
});

test('follows the end unless the reader scrolled up', async ({ app, server }) => {
  const { id } = await shell(server, 'seq 1 500; read x; seq 501 600; read x; seq 601 700', { stdin: 'open' });
  await app.goto(`/executions/${id}`);
  await expect(row(app, /^500$/)).toBeVisible();
  await log(app).hover();
  await app.mouse.wheel(0, -2000);
  await expect(row(app, /^500$/)).toBeHidden();
  const first = (): Promise<string | null> => app.locator('[data-row] .text').first().textContent();
  // The rows follow the wheel a moment later.
  let top = await first();
  const rests = async (): Promise<boolean> => top === (top = await first());
  await expect.poll(rests, { intervals: [300] }).toBe(true);
  await go(server, id);
  const pill = app.getByRole('button', { name: '100 lines below' });
  await expect(pill).toBeVisible();
  expect(await first()).toBe(top);
  await pill.click();
  await expect(row(app, /^600$/)).toBeVisible();
  await go(server, id);
  await expect(row(app, /^700$/)).toBeVisible();
});

test('searches, filters, links lines, selects and copies', async ({ app, server }) => {
  const { id } = await shell(server, 'for i in $(seq 1 2000); do echo "item $i"; done; echo "Error: no"');
  await app.goto(`/executions/${id}`);
  await expect(row(app, 'Error: no')).toBeVisible();
  await log(app).focus();
  await app.keyboard.press('Control+f');
  const search = app.getByRole('textbox', { name: 'Search the output' });
  await search.fill('item 77');
  const status = app.getByRole('search').getByRole('status');
  await expect(status).toHaveText('11');
  await search.press('Enter');
  await expect(app.locator('.hit.current')).toHaveText('item 77');
  await expect(status).toHaveText('1 of 11');
  await search.press('Shift+Enter');
  await expect(status).toHaveText('11 of 11');
  await app.getByRole('button', { name: 'Regular expression' }).click();
  await search.fill('item [0-9]00$');
  await expect(status).toHaveText('9');
  await search.fill('item (');
  await expect(status).toHaveText('Not a valid expression');
  await search.fill('^item 1500$');
  await app.getByRole('button', { name: 'Only matching lines' }).click();
  await expect(app.locator('[data-row].stdout')).toHaveCount(5);
  await search.press('Escape');
  await expect(search).toBeHidden();

  await app.getByRole('button', { name: 'Go to the first error' }).click();
  await expect(app.locator('.row.target')).toHaveText(/Error: no/);

  await app.goto(`/executions/${id}#L120-L140`);
  await expect(app.locator('.row.target')).toHaveCount(21);
  await expect(app.locator('.row.target').first()).toHaveText(/item 120/);
  await app.locator('[data-row="129"] a.number').click();
  await expect(app).toHaveURL(/#L130$/);
  await app.locator('[data-row="131"] a.number').click({ modifiers: ['Shift'] });
  await expect(app).toHaveURL(/#L130-L132$/);

  // A selection reaches from one row to another that is not drawn at the same time.
  await app.locator('[data-row="129"] .text').click({ position: { x: 1, y: 5 } });
  await log(app).hover();
  await app.mouse.wheel(0, 3000);
  await expect(app.locator('[data-row="129"]')).toHaveCount(0);
  const target = app.locator('[data-row] .text').nth(20);
  const text = (await target.textContent()) ?? '';
  const box = await target.boundingBox();
  if (!box) throw new Error('no box');
  await app.keyboard.down('Shift');
  await app.mouse.click(box.x + 700, box.y + 5);
  await app.keyboard.up('Shift');
  await log(app).press('Control+c');
  await expect(app.getByText(/^Copied \d+ lines$/)).toBeVisible();
  const copied = (await app.evaluate(() => navigator.clipboard.readText())).split('\n');
  expect(copied[0]).toBe('item 130');
  expect(copied.at(-1)).toBe(text);
  expect(copied.length).toBe(Number(text.split(' ')[1]) - 129);

  await app.getByRole('button', { name: 'Copy output' }).click();
  await app.getByRole('menuitem', { name: 'Copy all' }).click();
  await expect(app.getByText('Copied 2,001 lines')).toBeVisible();
  expect((await app.evaluate(() => navigator.clipboard.readText())).split('\n').length).toBe(2001);
});

test('100 MB of output scroll in bounded memory', async ({ app, server }) => {
  test.setTimeout(240_000);
  const count = 1_200_000;
  const { id } = await python(
    server,
    `import sys\nfor i in range(${count / 1000}): sys.stdout.write("".join("row %07d of a long output that fills the disk with words and more words\\n" % (i * 1000 + j) for j in range(1000)))`,
  );
  await app.goto(`/executions/${id}`);
  await expect(log(app)).toHaveAttribute('data-lines', String(count), { timeout: 180_000 });
  await expect(row(app, `row ${count - 1}`)).toBeVisible();
  const client = await app.context().newCDPSession(app);
  await client.send('HeapProfiler.enable');
  const heap = async (): Promise<number> => {
    await client.send('HeapProfiler.collectGarbage');
    return ((await client.send('Runtime.getHeapUsage')) as { usedSize: number }).usedSize / 1e6;
  };
  expect(await heap()).toBeLessThan(120);
  for (const share of [0, 0.5, 0.1, 0.75]) {
    await app.evaluate((at) => {
      const box = document.querySelector<HTMLElement>('[role=log]');
      if (box) box.scrollTop = at * (box.scrollHeight - box.clientHeight);
    }, share);
    const wanted = Math.round(share * count);
    await expect
      .poll(async () =>
        Math.abs(Number((await app.locator('.row.stdout .text').first().textContent())?.slice(4, 11)) - wanted),
      )
      .toBeLessThan(count / 1000);
    // What is drawn is what was written: the number in the text is the number of the row.
    const rows = await app
      .locator('.row.stdout')
      .evaluateAll((elements) =>
        elements.map((element) => [
          Number((element as HTMLElement).dataset['row']),
          Number(element.querySelector('.text')?.textContent?.slice(4, 11)),
        ]),
      );
    for (const [index, number] of rows) expect(number).toBe(index);
  }
  expect(await heap()).toBeLessThan(140);
});

test('a share link works in a browser without an account, until it is revoked', async ({ app, server, browser }) => {
  const session = await server.api<{ id: string }>('POST', '/v1/sessions', {});
  const { id } = await server.api<Started>('POST', `/v1/sessions/${session.id}/executions`, {
    shell: 'echo shared; read x; echo "more $x"; read x',
    stdin: 'open',
  });
  await app.goto(`/executions/${id}`);
  await expect(row(app, 'shared')).toBeVisible();
  await app.getByRole('button', { name: 'Share' }).click();
  await app.getByRole('button', { name: 'Create link' }).click();
  const link = await app.locator('[data-share-link]').inputValue();
  expect(link).toMatch(/#share=/);

  const guest = await newPage(browser, server, { signedIn: false });
  const check = watchErrors(guest);
  await guest.goto(link);
  await expect(row(guest, 'shared')).toBeVisible();
  await expect(guest.getByText('Read-only link')).toBeVisible();
  await expect(guest.getByRole('button', { name: 'Cancel' })).toHaveCount(0);
  await expect(guest.getByLabel('Standard input')).toHaveCount(0);
  await go(server, id, 'live\n');
  await expect(row(guest, 'more live')).toBeVisible();
  await guest.reload();
  await expect(row(guest, 'more live')).toBeVisible();
  await guest.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(guest);
  await expectAccessible(guest);

  await app.getByRole('button', { name: 'Revoke' }).click();
  await expect(app.getByText('The link is revoked.')).toBeVisible();
  await guest.reload();
  await expect(guest.getByText('This link does not work any more')).toBeVisible();
  check();
  await guest.context().close();
});

test('without a link or an account, one has to sign in', async ({ guest, server }) => {
  const { id } = await shell(server, 'echo secret');
  await guest.goto(`${server.url}/executions/${id}`);
  await expect(guest.getByRole('button', { name: /sign in/i }).first()).toBeVisible();
  await expect(row(guest, 'secret')).toHaveCount(0);
});

test('nothing that a program prints or is called runs in the page', async ({ app, server }) => {
  const evil = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
  const { id } = await python(
    server,
    [
      `print(${JSON.stringify(evil)})`,
      'print("\\x1b]8;;javascript:window.hacked=1\\x1b\\\\click\\x1b]8;;\\x1b\\\\")',
      'print("\\x1b]8;;https://example.org/\\"onmouseover=alert(1)\\x1b\\\\good\\x1b]8;;\\x1b\\\\")',
      'print("\\x1b]0;" + "<b>title</b>" + "\\x07javascript:alert(1) data:text/html,x")',
      'print("\\x1b[31;url(https://example.org)mstyle")',
    ].join('\n'),
    { metadata: { [evil.slice(0, 40)]: evil } },
  );
  await app.goto(`/executions/${id}`);
  await expect(row(app, '<img src=x')).toHaveText(evil);
  await expect(row(app, 'click').locator('a')).toHaveCount(0);
  const good = row(app, 'good').locator('a');
  await expect(good).toHaveAttribute('href', /^https:\/\/example\.org\//);
  await expect(good).toHaveAttribute('rel', 'noopener noreferrer');
  await expect(row(app, 'javascript:alert').locator('a')).toHaveCount(0);
  await row(app, 'click').click();
  expect(await app.evaluate(() => 'hacked' in window)).toBe(false);
  await expect(app.locator('[data-row] img, [data-row] script, [data-row] iframe')).toHaveCount(0);
});

test('tells when an execution ends, also on another page', async ({ app, server }) => {
  const first = await shell(server, 'read line; exit 3', { stdin: 'open' });
  await app.goto(`/executions/${first.id}`);
  await app.getByRole('button', { name: 'Notify me when this ends' }).click();
  await expect(app.getByText('The browser does not allow notifications.')).toBeVisible();
  const on = app.getByRole('button', { name: 'You will be notified when this ends' });
  await expect(on).toHaveAttribute('aria-pressed', 'true');
  await app.getByRole('link', { name: 'Sessions' }).first().click();
  await expect(app).toHaveURL(/\/sessions$/);
  await go(server, first.id);
  await expect(app.getByText(/^Execution ended: exited with 3/)).toBeVisible();

  // A browser that allows it shows a notification of its own, which leads to the execution.
  await app.addInitScript(() => {
    const shown: object[] = [];
    class Recorded {
      static permission = 'default';
      static requestPermission(): Promise<string> {
        Recorded.permission = 'granted';
        return Promise.resolve('granted');
      }
      onclick: (() => void) | null = null;
      constructor(
        readonly title: string,
        readonly options: object,
      ) {
        shown.push(this);
      }
      close(): void {
        shown.length = 0;
      }
    }
    Object.assign(window, { Notification: Recorded, shown });
  });
  const second = await shell(server, 'read line; echo ok', { stdin: 'open' });
  await app.goto(`/executions/${second.id}`);
  const bell = app.getByRole('button', { name: 'Notify me when this ends' });
  // Off again: nothing is told.
  await bell.click();
  await on.click();
  await expect(bell).toHaveAttribute('aria-pressed', 'false');
  await bell.click();
  await go(server, second.id);
  const shown = (): Promise<unknown> =>
    app.evaluate(() => (window as unknown as { shown: { title: string; options: object }[] }).shown);
  await expect
    .poll(shown)
    .toMatchObject([{ title: expect.stringMatching(/^exited with 0/), options: { tag: second.id } }]);
  await expect(bell).toHaveCount(0);
  await expect(app.getByText(/^Execution ended/)).toHaveCount(0);
  await app.getByRole('link', { name: 'Sessions' }).first().click();
  await app.evaluate(() => (window as unknown as { shown: { onclick: () => void }[] }).shown[0]?.onclick());
  await expect(app).toHaveURL(`/executions/${second.id}`);
});

test('recognises images and binary data', async ({ app, server }) => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==';
  const image = await shell(server, `echo ${png} | base64 -d`);
  await app.goto(`/executions/${image.id}`);
  await expect(app.getByRole('img', { name: 'PNG image' })).toBeVisible();
  const binary = await shell(server, `head -c 5000 /dev/urandom`);
  await app.goto(`/executions/${binary.id}`);
  await expect(app.getByText('The output is not text')).toBeVisible();
  await app.getByRole('button', { name: 'Show as text' }).click();
  await expect(log(app)).toBeVisible();
});
