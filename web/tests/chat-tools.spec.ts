// Tool cards: live output, how it ended, consent, questions, plans, changes.
import { answer, askAlways, begin, box, cards, code, ended, expect, on, rows, signal, until, withModel } from './chat';
import { expectAccessible } from './harness';

const run = (runtime: string, text: string) => ({ tool_calls: [code(runtime, text)] });
const DONE = { text: 'That is all.' };
const LIVE = `echo one; ${until('go1')}; echo two; ${until('go2')}; echo three`;
const PATCH = `*** Begin Patch
*** Add File: hello.txt
+first line
+second line
*** End Patch`;

const test = withModel([
  on('quick stdout', run('terminal', 'echo "Hello"'), DONE),
  on('five lines', run('python', 'for i in range(5):\n    print("line", i)'), DONE),
  on('no tool', { text: 'No tool was needed.' }),
  on('to stderr', run('terminal', 'ls /nonexistent-folder'), DONE),
  on(
    'both streams',
    run('python', 'import sys\nprint("out")\nsys.stdout.flush()\nprint("err", file=sys.stderr)'),
    DONE,
  ),
  on('step by step', run('terminal', LIVE), DONE),
  on('for ever', run('terminal', `echo started; ${until('never')}`), DONE),
  on(
    'two at once',
    { tool_calls: [code('terminal', `echo left; ${until('go')}`), code('python', 'print("right")')] },
    DONE,
  ),
  on('many lines', run('terminal', `seq 1 400; ${until('go')}; seq 401 500`), DONE),
  on(
    'ask first',
    {
      tool_calls: [
        {
          name: 'exec_command',
          arguments: { cmd: 'touch asked; echo asked', justification: 'May I?' },
        },
      ],
    },
    DONE,
  ),
  on(
    'a question',
    {
      tool_calls: [
        {
          name: 'request_user_input',
          arguments: {
            questions: [
              {
                id: 'db',
                header: 'Database',
                question: 'Which one?',
                options: [
                  { label: 'SQLite', description: 'One file' },
                  { label: 'PostgreSQL', description: 'A server' },
                ],
              },
            ],
          },
        },
      ],
    },
    { text: 'Thank you.' },
  ),
  on(
    'a plan',
    {
      tool_calls: [
        {
          name: 'update_plan',
          arguments: {
            plan: [
              { step: 'Look', status: 'completed' },
              { step: 'Change', status: 'in_progress' },
            ],
          },
        },
        { name: 'apply_patch', arguments: { input: PATCH } },
      ],
    },
    DONE,
  ),
]);

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 120_000 });

test('41, 46, 47: quick output of the shell, its exit code, what the model received, copy', async ({ app }) => {
  await begin(app, 'quick stdout');
  const card = cards(app, 'code_execution');
  await expect(card).toHaveAttribute('data-state', 'succeeded');
  await expect(rows(card)).toHaveText(['Hello']);
  await expect(card.locator('[data-exit-code]')).toHaveText('exit code 0');
  await expect(card).toContainText('echo "Hello"');
  await ended(app);
  await card.getByText('What the model received').click();
  await expect(card.locator('details pre')).toContainText('Hello');
  const copy = card.getByTitle('Copy live output');
  await copy.click();
  await expect(copy).toContainText('Copied 1 line');
  expect((await app.evaluate(() => navigator.clipboard.readText())).trim()).toBe('Hello');
  await expectAccessible(app);
});

test('42: the lines of a loop in Python, and all of them after a reload', async ({ app }) => {
  await begin(app, 'five lines');
  const card = cards(app, 'code_execution');
  const lines = Array.from({ length: 5 }, (_, n) => `line ${n}`);
  await expect(rows(card)).toHaveText(lines);
  await ended(app);
  await app.reload();
  await expect(rows(card)).toHaveText(lines);
  await expect(card).toHaveAttribute('data-state', 'succeeded');
});

test('an answer without a tool does not load all outputs again', async ({ app }) => {
  await begin(app, 'quick stdout');
  await expect(answer(app)).toContainText('That is all.');
  await ended(app);
  const loads: string[] = [];
  app.on('request', (request) => {
    if (request.method() === 'GET' && /\/conversations\/cnv_\w+$/.test(request.url())) loads.push(request.url());
  });
  await box(app).fill('no tool');
  await box(app).press('Enter');
  await expect(answer(app)).toContainText('No tool was needed.');
  await ended(app);
  expect(loads).toEqual([]);
  await box(app).fill('quick stdout');
  await box(app).press('Enter');
  await expect(answer(app)).toContainText('That is all.');
  await ended(app);
  expect(loads).toHaveLength(1);
});

test('43, 44: stderr is told apart, alone and between stdout, and an error has its colour', async ({ app }) => {
  await begin(app, 'to stderr');
  const card = cards(app, 'code_execution');
  await expect(card).toHaveAttribute('data-state', 'failed');
  await expect(card.locator('[data-row].stderr')).toContainText('/nonexistent-folder');
  await expect(card.locator('[data-exit-code]')).toHaveText('exit code 2');
  await ended(app);
  await box(app).fill('both streams');
  await box(app).press('Enter');
  const second = cards(app, 'code_execution').last();
  await expect(rows(second)).toHaveText(['out', 'err']);
  await expect(second.locator('[data-row].stderr .text')).toHaveText(['err']);
});

test('45: output appears while the program runs, also after a reload in the middle', async ({ app, server }) => {
  const id = await begin(app, 'step by step');
  const card = cards(app, 'code_execution');
  await expect(rows(card)).toHaveText(['one']);
  await expect(card).toHaveAttribute('data-state', 'running');
  await expect(card.getByText('Running command...')).toBeVisible();
  await signal(server, id, 'go1');
  await expect(rows(card)).toHaveText(['one', 'two']);
  // The reload comes in the middle, and doubles nothing.
  await app.reload();
  await expect(rows(card)).toHaveText(['one', 'two']);
  await signal(server, id, 'go2');
  await expect(rows(card)).toHaveText(['one', 'two', 'three']);
  await expect(card).toHaveAttribute('data-state', 'succeeded');
  await ended(app);
  await expect(answer(app)).toContainText('That is all.');
});

test('cancels one command, and the agent goes on with what it printed', async ({ app }) => {
  await begin(app, 'for ever');
  const card = cards(app, 'code_execution');
  await expect(rows(card)).toHaveText(['started']);
  await card.getByRole('button', { name: 'Cancel' }).click();
  await expect(answer(app)).toContainText('That is all.');
  await ended(app);
  await expect(rows(card)).toHaveText(['started']);
});

test('stops the turn, and keeps what was printed', async ({ app }) => {
  await begin(app, 'for ever');
  const card = cards(app, 'code_execution');
  await expect(rows(card)).toHaveText(['started']);
  await app.getByRole('button', { name: 'Stop', exact: true }).click();
  await ended(app);
  await expect(card).toHaveAttribute('data-state', 'stopped');
  await expect(rows(card)).toHaveText(['started']);
  await expect(app.getByText('Stopped.')).toBeVisible();
});

test('shows two calls that run at once, each with its own output', async ({ app, server }) => {
  const id = await begin(app, 'two at once');
  const both = cards(app, 'code_execution');
  await expect(both).toHaveCount(2);
  await expect(rows(both.nth(0))).toHaveText(['left']);
  await expect(rows(both.nth(1))).toHaveText(['right']);
  await expect(both.nth(0)).toHaveAttribute('data-state', 'running');
  await signal(server, id, 'go');
  await ended(app);
  await expect(both.nth(0)).toHaveAttribute('data-state', 'succeeded');
});

test('46: the card follows the end unless the reader scrolled up', async ({ app, server }) => {
  const id = await begin(app, 'many lines');
  const card = cards(app, 'code_execution');
  await expect(rows(card).filter({ hasText: /^400$/ })).toBeVisible();
  const log = card.getByRole('log');
  expect((await log.boundingBox())?.height).toBeLessThanOrEqual(300);
  await log.hover();
  await app.mouse.wheel(0, -1500);
  await expect(rows(card).filter({ hasText: /^400$/ })).toBeHidden();
  const top = await log.evaluate((element) => element.scrollTop);
  await signal(server, id, 'go');
  await ended(app);
  expect(await log.evaluate((element) => element.scrollTop)).toBe(top);
});

test('folds long output, unfolds it, and finds text in all of it', async ({ app, server }) => {
  const id = await begin(app, 'many lines');
  const card = cards(app, 'code_execution');
  // The session is there once the program prints.
  await expect(rows(card).filter({ hasText: /^400$/ })).toBeVisible();
  await signal(server, id, 'go');
  await ended(app);
  const log = card.getByRole('log');
  // Below the first twenty lines.
  await log.evaluate((element) => (element.scrollTop = 200));
  await expect(card.getByRole('button', { name: 'Show all' })).toBeVisible();
  await card.getByRole('button', { name: 'Search the output' }).click();
  await card.getByLabel('Search the output').fill('^25\\d$');
  await card.getByRole('button', { name: 'Regular expression' }).click();
  await expect(card.getByRole('search')).toContainText('10');
  await card.getByLabel('Search the output').press('Enter');
  await expect(card.locator('.hit.current')).toBeVisible();
  await app.keyboard.press('Escape');
  await expect(card.getByRole('search')).toBeHidden();
});

test('asks for consent, and takes yes and no', async ({ app }) => {
  await askAlways(app);
  await begin(app, 'ask first');
  const card = cards(app, 'exec_command').last();
  const question = card.getByRole('group', { name: 'May the agent do this?' });
  await expect(question).toContainText('touch asked; echo asked');
  await expect(card).toHaveAttribute('data-state', 'approval');
  await expectAccessible(app);
  await question.getByLabel('Reason (optional, for the agent)').fill('not today');
  await question.getByRole('button', { name: 'Deny' }).click();
  await expect(card).toHaveAttribute('data-state', 'denied');
  await expect(question).toContainText('because: not today');
  await ended(app);
  await box(app).fill('ask first, again');
  await box(app).press('Enter');
  const second = cards(app, 'exec_command').nth(1);
  await second.getByRole('button', { name: 'Allow once' }).click();
  await expect(rows(second)).toHaveText(['asked']);
  await expect(second).toContainText('Allowed once');
  await ended(app);
});

test('asks a question and takes the answer', async ({ app }) => {
  await begin(app, 'a question');
  const card = cards(app, 'request_user_input');
  await expect(card).toHaveAttribute('data-state', 'question');
  await card.getByLabel('PostgreSQL').check();
  await card.getByRole('button', { name: 'Answer' }).click();
  await expect(answer(app)).toContainText('Thank you.');
  await ended(app);
  await expect(card).toContainText('PostgreSQL');
  await expect(card.getByRole('radio')).toHaveCount(0);
});

test('shows a plan with its ticks, and the changes of files', async ({ app }) => {
  await begin(app, 'a plan');
  await ended(app);
  await expect(cards(app, 'update_plan').getByRole('listitem')).toHaveText(['Done: Look', 'In progress: Change']);
  const patch = cards(app, 'apply_patch');
  await expect(patch.locator('.line.right')).toHaveCount(2);
  await expect(patch).toContainText('hello.txt');
  await expectAccessible(app);
});
