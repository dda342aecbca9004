// A server that is killed in the middle: the turn goes on, and the page shows everything once.
import { answer, begin, box, cards, code, ended, expect, on, rows, signal, until, withModel } from './chat';

const test = withModel([
  on('long answer', { text: 'The first half {{hold}}and the second half.' }, { text: 'and the second half.' }),
  on('long tool', { tool_calls: [code('terminal', `echo one; ${until('go')}; echo two`)] }, { text: 'It is done.' }),
]);

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 180_000 });

test('a reload in the middle of an answer loses and doubles nothing', async ({ app, model }) => {
  await begin(app, 'long answer');
  await expect(answer(app)).toContainText('The first half');
  await app.reload();
  await expect(answer(app)).toContainText('The first half');
  await model.release();
  await ended(app);
  const text = await answer(app).innerText();
  expect(text.match(/first half/g)).toHaveLength(1);
  expect(text.match(/second half/g)).toHaveLength(1);
});

test('a server that is killed in the middle of an answer goes on with it', async ({ app, server }) => {
  await begin(app, 'long answer');
  await expect(answer(app)).toContainText('The first half');
  await server.stop('SIGKILL');
  await expect(app.getByText('The connection was lost').first()).toBeVisible();
  // Whoever writes meanwhile sees what they write.
  const state = app.locator('.connection .bar');
  await expect(state).toContainText('The server does not answer');
  await box(app).fill('a draft');
  const [bar, form] = [await state.boundingBox(), await app.locator('form.composer').boundingBox()];
  expect((bar?.y ?? 0) + (bar?.height ?? 0)).toBeLessThan(form?.y ?? 0);
  await server.start();
  await expect(state).toBeHidden();
  await expect(box(app)).toHaveValue('a draft');
  await expect(answer(app)).toContainText('second half', { timeout: 60_000 });
  await ended(app);
  const text = await answer(app).innerText();
  expect(text.match(/The first half/g)).toHaveLength(1);
  const before = await app.locator('article').allInnerTexts();
  await app.reload();
  await ended(app);
  expect((await app.locator('article').allInnerTexts()).length).toBe(before.length);
});

test('a server that is killed in the middle of a tool finds its program again', async ({ app, server }) => {
  const id = await begin(app, 'long tool');
  const card = cards(app, 'code_execution');
  await expect(rows(card)).toHaveText(['one']);
  await server.stop('SIGKILL');
  await expect(app.getByText('The connection was lost').first()).toBeVisible();
  await server.start();
  await signal(server, id, 'go');
  await expect(rows(card)).toHaveText(['one', 'two'], { timeout: 60_000 });
  await expect(answer(app)).toContainText('It is done.', { timeout: 60_000 });
  await ended(app);
  await expect(card).toHaveCount(1);
  await expect(card).toHaveAttribute('data-state', 'succeeded');
});
