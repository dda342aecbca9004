// Without a model the chat is a notebook; and a conversation with a hundred outputs stays cheap.
import { answer, begin, box, cards, ended, expect, rows } from './chat';
import { expectAccessible, test } from './harness';

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 180_000 });

/** Prints 40 MB at 10 MB/s. */
const FLOOD = `import sys, time
block = ("x" * 99 + "\\n") * 2500
begin = time.monotonic()
for n in range(160):
    sys.stdout.write(block)
    sys.stdout.flush()
    time.sleep(max(0, begin + (n + 1) * 0.025 - time.monotonic()))
print("the end")`;

/** The longest task of a thread, in milliseconds of CPU: what else a machine does has no part in it. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: { name: string; tdur?: number }[] };
  const tasks = traceEvents.filter(({ name, tdur }) => name.endsWith('RunTask') && tdur !== undefined);
  expect(tasks.length).toBeGreaterThan(100);
  return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur / 1000), 0);
}

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

test('a hundred commands: the last outputs are open, the others cost nothing until they are', async ({
  app,
  browser,
}) => {
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

  // One more, which prints 10 MB/s for some seconds: the page stays small and answers to the keyboard.
  await browser.startTracing(app, { categories: ['toplevel'] });
  await box(app).fill(`\`\`\`python\n${FLOOD}\n\`\`\``);
  await box(app).press('Enter');
  const flood = cards(app, 'code_execution').last();
  await expect(cards(app, 'code_execution')).toHaveCount(101);
  await expect(flood).toHaveAttribute('data-state', 'running');
  await expect(rows(flood).last()).toContainText('xxxx');
  await box(app).pressSequentially('typed meanwhile');
  await expect(box(app)).toHaveValue('typed meanwhile');
  await expect(flood).toHaveAttribute('data-state', 'running');
  expect(await app.locator('*').count()).toBeLessThan(6000);
  expect(await flood.locator('[data-row]').count()).toBeLessThan(100);
  await expect(flood).toHaveAttribute('data-state', 'succeeded', { timeout: 120_000 });
  await expect(rows(flood).last()).toHaveText('the end');
  // `make bench-web` measures frames; this finds work that grows with the output or with the cards.
  expect(longestTask(await browser.stopTracing())).toBeLessThan(250);
});
