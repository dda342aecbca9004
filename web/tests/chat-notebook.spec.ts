// Without a model the chat is a notebook; and a conversation with a hundred outputs stays cheap.
import { answer, begin, box, cards, ended, expect, rows } from './chat';
import { expectAccessible, test } from './harness';

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 180_000 });

test('runs lines and blocks of code, and says how to add a model', async ({ app }) => {
  await app.goto('/chat');
  await expect(app.getByText('[models.NAME]')).toBeVisible();
  await expectAccessible(app);
  await begin(app, '/run echo from a line');
  await expect(rows(cards(app, 'code_execution'))).toHaveText(['from a line']);
  await ended(app);
  await box(app).fill('```python\nprint("from a block")\n```');
  await box(app).press('Enter');
  await expect(rows(cards(app, 'code_execution').last())).toHaveText(['from a block']);
  await ended(app);
  await box(app).fill('what now?');
  await box(app).press('Enter');
  await expect(answer(app)).toContainText('[models.NAME]');
});

test('a hundred commands: the last outputs are open, the others cost nothing until they are', async ({ app }) => {
  const lines = Array.from({ length: 100 }, (_, n) => `/run echo output ${n}`);
  await begin(app, lines.join('\n'));
  await expect(cards(app, 'code_execution')).toHaveCount(100, { timeout: 60_000 });
  await expect(cards(app, 'code_execution').last()).toHaveAttribute('data-state', 'succeeded', { timeout: 120_000 });
  await ended(app);
  await expect(rows(cards(app, 'code_execution').last())).toHaveText(['output 99']);
  await app.reload();
  await expect(rows(cards(app, 'code_execution').last())).toHaveText(['output 99']);
  expect(await app.locator('[data-tool] [role=log]').count()).toBeLessThanOrEqual(8);
  const early = cards(app, 'code_execution').nth(10);
  await early.scrollIntoViewIfNeeded();
  await early.locator('.toggle').click();
  await expect(rows(early)).toHaveText(['output 10']);
});
