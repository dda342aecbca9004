// Conversations in the browser: write, read, stop, steer, branch, find again.
import { answer, begin, box, ended, expect, on, stopButton, withModel } from './chat';
import { expectAccessible, expectNoSidewaysScroll, newPage } from './harness';

const MARKDOWN = `## A heading

Some **bold** text with \`code\`, a [link](https://example.org/x) and $x^2$.

| a | b |
| - | - |
| 1 | 2 |

\`\`\`python
print("hi")  # say it
\`\`\`

\`\`\`mermaid
flowchart LR
  A --> B
\`\`\`
`;

const test = withModel([
  on('say hello', {
    text: 'Hello, person.',
    usage: { input_tokens: 1200, cached_tokens: 1000, output_tokens: 34, cost: 0.0021 },
  }),
  on('show markdown', { text: MARKDOWN, delta_chars: 3 }),
  on('hold on', { text: 'The first half {{hold}}and the second.' }),
  on('after that', { text: 'That came later.' }),
  on('fail for good', { fail: { status: 400, times: 99 } }),
]);

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 120_000 });

test('answers a message, and shows what it used', async ({ app }) => {
  await begin(app, 'say hello');
  await expect(answer(app)).toContainText('Hello, person.');
  await ended(app);
  await expect(answer(app)).toContainText('1,200 in, 34 out · $0.0021');
  await expect(app).toHaveTitle(/^say hello · Chat · Headwater$/);
  await answer(app).getByRole('button', { name: 'Copy message' }).click();
  expect(await app.evaluate(() => navigator.clipboard.readText())).toBe('Hello, person.');
  // The address leads back to it, and so does the history of the browser.
  await app.goBack();
  await expect(app).toHaveURL(/\/chat$/);
  await app.goForward();
  await expect(answer(app)).toContainText('Hello, person.');
});

test('shows Markdown as elements: code, a table, a formula, a diagram', async ({ app }) => {
  await begin(app, 'show markdown');
  await ended(app);
  const text = answer(app);
  await expect(text.getByRole('heading', { name: 'A heading' })).toBeVisible();
  await expect(text.locator('strong')).toHaveText('bold');
  await expect(text.getByRole('link', { name: 'link' })).toHaveAttribute('rel', 'noopener noreferrer');
  await expect(text.getByRole('cell')).toHaveText(['1', '2']);
  await expect(text.locator('.katex').first()).toBeVisible();
  await expect(text.locator('pre .string')).toHaveText('"hi"');
  await expect(text.getByRole('img', { name: 'Diagram' })).toBeVisible({ timeout: 30_000 });
  await expectAccessible(app);
});

test('runs the code of an answer in the session of the conversation', async ({ app }) => {
  await begin(app, 'show markdown');
  await ended(app);
  await answer(app).getByRole('button', { name: 'Run this code' }).click();
  await expect(answer(app).locator('[data-row] .text').first()).toHaveText('hi');
  await app.reload();
  await expect(app.getByRole('link', { name: 'Open in the IDE' })).toHaveAttribute('href', /^\/sessions\/ses_/);
});

test('stops in the middle of an answer and keeps what was said', async ({ app }) => {
  await begin(app, 'hold on');
  await expect(answer(app)).toContainText('The first half');
  await app.keyboard.press('Escape');
  await ended(app);
  await expect(app.getByText('Stopped.')).toBeVisible();
  await expect(answer(app)).toContainText('The first half');
  await expect(answer(app)).not.toContainText('second');
});

test('delivers or withdraws a message that was sent while the agent works', async ({ app, model }) => {
  await begin(app, 'hold on');
  await expect(answer(app)).toContainText('The first half');
  for (const text of ['never mind', 'after that']) {
    await box(app).fill(text);
    await app.getByLabel('When the message reaches the agent').selectOption('After this turn');
    await box(app).press('Enter');
    await expect(app.getByRole('list', { name: 'Messages that wait' })).toContainText(text);
  }
  await app.getByRole('button', { name: 'Withdraw this message' }).first().click();
  await expect(app.getByRole('list', { name: 'Messages that wait' })).not.toContainText('never mind');
  await model.release();
  await expect(answer(app)).toContainText('That came later.');
  await ended(app);
  await expect(app.locator('article')).toHaveCount(4);
  await expect(app.getByText('never mind')).toHaveCount(0);
});

test('edits a message, answers again, and keeps every version', async ({ app }) => {
  await begin(app, 'say hello');
  await ended(app);
  const question = app.locator('article.user').first();
  await question.hover();
  await question.getByRole('button', { name: 'Edit and ask again' }).click();
  await app.getByLabel('Edited message').fill('after that');
  await app.getByLabel('Edited message').press('Enter');
  await expect(answer(app)).toContainText('That came later.');
  await ended(app);
  await expect(question).toContainText('2/2');
  await answer(app).getByRole('button', { name: 'Answer again' }).click();
  await expect(answer(app)).toContainText('2/2');
  await ended(app);
  await question.getByRole('button', { name: 'Previous version' }).click();
  await expect(question).toContainText('say hello');
  await expect(answer(app)).toContainText('Hello, person.');
  await app.reload();
  await expect(question).toContainText('1/2');
});

test('says what failed and goes on', async ({ app }) => {
  await begin(app, 'fail for good');
  await ended(app);
  await expect(app.getByRole('alert')).toContainText('The turn failed.');
  await box(app).fill('say hello');
  await box(app).press('Enter');
  await expect(answer(app)).toContainText('Hello, person.');
});

test('is used by keyboard alone, and keeps a draft over a reload', async ({ app }) => {
  // The start page would take the keys into its code.
  await app.goto('/history');
  await expect(app.getByRole('heading', { name: 'History' })).toBeVisible();
  await app.keyboard.press('g');
  await app.keyboard.press('c');
  await expect(box(app)).toBeFocused();
  await app.keyboard.type('line one');
  await app.keyboard.press('Shift+Enter');
  await app.keyboard.type('say hello');
  await app.reload();
  await expect(box(app)).toHaveValue('line one\nsay hello');
  await expect(box(app)).toBeFocused();
  await app.keyboard.press('Enter');
  await expect(answer(app)).toContainText('Hello, person.');
  await ended(app);
  await expect(box(app)).toHaveValue('');
  await app.keyboard.press('Control+k');
  await app.keyboard.type('new conversation');
  await app.keyboard.press('Enter');
  await expect(app).toHaveURL(/\/chat$/);
});

test('attaches files to a message', async ({ app, server }) => {
  await app.goto('/chat');
  const name = 'notes <b>.txt';
  await app.setInputFiles('input[type=file]', { name, mimeType: 'text/plain', buffer: Buffer.from('some notes') });
  await expect(app.getByRole('list', { name: 'Attached files' })).toContainText(name);
  await box(app).fill('say hello');
  await box(app).press('Enter');
  await ended(app);
  await expect(app.locator('article.user')).toContainText(name);
  const id = app.url().split('/').pop();
  const { session_id } = await server.api<{ session_id: string }>('GET', `/v1/conversations/${id}`);
  const files = await server.api('GET', `/v1/sessions/${session_id}/files?path=attachments`);
  expect(JSON.stringify(files)).toContain('notes');
});

test('finds, renames, archives and deletes conversations', async ({ app }) => {
  await begin(app, 'say hello to Zanzibar');
  await ended(app);
  const list = app.getByRole('navigation', { name: 'Conversations' });
  const row = (name: string) => list.getByRole('listitem').filter({ hasText: name });
  await list.getByLabel('Search conversations').fill('zanzibar');
  await expect(list.getByRole('listitem')).toHaveCount(1);
  await list.getByLabel('Search conversations').fill('');
  await row('Zanzibar').getByRole('button', { name: 'Actions for' }).click();
  await app.getByRole('menuitem', { name: 'Rename' }).click();
  await app.getByLabel('Title').fill('Another name');
  await app.keyboard.press('Enter');
  await expect(row('Another name')).toBeVisible();
  await expect(app.getByRole('heading', { name: 'Another name' })).toBeVisible();
  await row('Another name').getByRole('button', { name: 'Actions for' }).click();
  await app.getByRole('menuitem', { name: 'Archive' }).click();
  await expect(row('Another name')).toBeHidden();
  await list.getByRole('button', { name: 'Show archived conversations' }).click();
  await row('Another name').getByRole('button', { name: 'Actions for' }).click();
  await app.getByRole('menuitem', { name: 'Delete' }).click();
  await expect(row('Another name')).toBeHidden();
  await app.getByRole('button', { name: 'Undo' }).click();
  await expect(row('Another name')).toBeVisible();
});

test('saves a conversation as a file', async ({ app }) => {
  await begin(app, 'say hello to the file');
  await ended(app);
  await app.getByRole('button', { name: 'More', exact: true }).click();
  const saved = app.waitForEvent('download');
  await app.getByRole('menuitem', { name: 'Export as Markdown' }).click();
  const file = await saved;
  expect(file.suggestedFilename()).toMatch(/^cnv_.*\.md$/);
  const text = await (await file.createReadStream()).toArray();
  expect(Buffer.concat(text as Buffer[]).toString()).toContain('> say hello to the file');
});

test('shows which models can be reached, and remembers how the agent works', async ({ app, server }) => {
  const id = await begin(app, 'say hello');
  await ended(app);
  await expect(app.getByLabel('Model').locator('option')).toHaveText(['away (not reachable)', 'scripted (default)']);
  const stored = () => server.api<{ mode: string; model: string }>('GET', `/v1/conversations/${id}`);
  await app.getByLabel('Model').selectOption('away (not reachable)');
  await expect.poll(async () => (await stored()).model).toBe('away');
  await app.getByRole('button', { name: 'How the agent works' }).click();
  await app.getByRole('menuitem', { name: /^Plan/ }).click();
  await expect.poll(async () => (await stored()).mode).toBe('plan');
  await app.reload();
  await expect(app.getByRole('button', { name: 'How the agent works' })).toContainText('Plan only');
  await expect(app.getByLabel('Model')).toHaveValue('away');
});

test('a conversation of somebody else does not exist', async ({ app, browser, server }) => {
  const id = await begin(app, 'say hello');
  await ended(app);
  await server.command(['user', 'add', 'eve'], 'a long enough password');
  const page = await newPage(browser, server, { signedIn: false });
  await page.goto(`/chat/${id}`);
  await page.getByLabel('Name').fill('eve');
  await page.locator('input[type=password]').fill('a long enough password');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page.getByText('No such conversation').first()).toBeVisible();
  await expect(page.getByText('Hello, person.')).toHaveCount(0);
  await page.goto('/chat');
  await expect(page.getByText('No conversations yet')).toBeVisible();
  await page.context().close();
});

for (const theme of ['light', 'dark'] as const) {
  test(`works on a phone, ${theme}`, async ({ app }) => {
    await app.emulateMedia({ colorScheme: theme });
    await app.setViewportSize({ width: 360, height: 740 });
    await begin(app, 'show markdown');
    await ended(app);
    await expectNoSidewaysScroll(app);
    await expectAccessible(app);
    await app.getByRole('button', { name: 'Show the list of conversations' }).click();
    await expect(app.getByRole('navigation', { name: 'Conversations' })).toBeVisible();
    await expectAccessible(app);
    await app.getByRole('button', { name: 'New conversation' }).click();
    await expect(app.getByText('What should be done?')).toBeVisible();
    await expect(stopButton(app)).toBeHidden();
    await expectNoSidewaysScroll(app);
  });
}
