// What the specs of the chat share: a server with a scripted model, and the parts of the page.
import { expect, test as base, type Page } from './harness';
import { ScriptedModel, type Script, type ScriptedTurn } from './model.mjs';
import { TestServer } from './server.mjs';

export { expect, type Page };

/** The turns that follow a message with this text. */
export const on = (text: string, ...turns: ScriptedTurn[]): NonNullable<Script['rules']>[number] => ({
  when: { last_user_contains: text },
  turns,
});

/** A call of `code_execution`. */
export const code = (runtime: string, text: string) => ({
  name: 'code_execution',
  arguments: { runtime, code: text },
});

/** A test whose server has a model that follows the rules. */
export const withModel = (rules: NonNullable<Script['rules']>) =>
  base.extend<object, { model: ScriptedModel }>({
    model: [
      // Playwright reads the names of fixtures from this pattern.
      // eslint-disable-next-line no-empty-pattern
      async ({}, use) => {
        const model = await ScriptedModel.start({ rules, turns: [{ text: 'I have no more to say.' }] });
        await use(model);
        await model.close();
      },
      { scope: 'worker', timeout: 60_000 },
    ],
    server: [
      async ({ model }, use) => {
        const server = await TestServer.create({ config: model.config });
        await use(server);
        await server.close();
      },
      { scope: 'worker', timeout: 60_000 },
    ],
  });

export const box = (page: Page) => page.getByLabel('Message', { exact: true });
export const stopButton = (page: Page) => page.getByRole('button', { name: 'Stop', exact: true });
export const answer = (page: Page) => page.locator('article.assistant').last();
export const cards = (page: Page, tool: string) => page.locator(`[data-tool="${tool}"]`);
/** The texts of the rows of a card, without the row that says how it ended. */
export const rows = (card: ReturnType<typeof cards>) => card.locator('[data-row]:not(.end) .text');

/** Opens a new conversation, sends a message and waits until it is in the address. Returns its id. */
export async function begin(page: Page, text: string): Promise<string> {
  // What was chosen for the next conversation holds until the page is left.
  if (new URL(page.url()).pathname !== '/chat') await page.goto('/chat');
  await box(page).fill(text);
  await box(page).press('Enter');
  await expect(page).toHaveURL(/\/chat\/cnv_/);
  return page.url().split('/').pop() ?? '';
}

/** Chooses that the agent asks before commands, for the conversations that are begun from now on. */
export async function askAlways(page: Page): Promise<void> {
  await page.goto('/chat');
  await page.getByRole('button', { name: 'How the agent works' }).click();
  await page.getByRole('menuitem', { name: 'Ask before most commands' }).click();
  await expect(page.getByRole('button', { name: 'How the agent works' })).toContainText('Ask before most commands');
}

/** Waits until the agent has ended its turn. */
export async function ended(page: Page): Promise<void> {
  await expect(page.locator('article.assistant').last()).toBeVisible();
  await expect(stopButton(page)).toBeHidden({ timeout: 60_000 });
}

/** Writes an empty file into the workspace of a conversation, for which its program waits. */
export async function signal(server: TestServer, conversation: string, path: string): Promise<void> {
  const { session_id } = await server.api<{ session_id: string }>('GET', `/v1/conversations/${conversation}`);
  const headers = { authorization: `Bearer ${server.token}` };
  const url = `${server.direct}/v1/sessions/${session_id}/files/content?path=${path}`;
  const response = await fetch(url, { method: 'PUT', headers, body: '' });
  expect(response.ok).toBe(true);
}

/** A command that waits for `signal`. */
export const until = (path: string): string => `while [ ! -e ${path} ]; do sleep 0.05; done`;
