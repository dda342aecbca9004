// Files that belong to a message: by the dialog, by drop and by paste.
import { box, ended, expect, on, withModel, type Page } from './chat';

const test = withModel([on('look at this', { text: 'I have seen it.' })]);
test.describe.configure({ timeout: 120_000 });

const attached = (app: Page) => app.getByRole('list', { name: 'Attached files' });

interface Given {
  name: string;
  text: string;
}

/** What a person drops or pastes. */
const transfer = (app: Page, files: Given[]) =>
  app.evaluateHandle((given) => {
    const data = new DataTransfer();
    for (const { name, text } of given) data.items.add(new File([text], name, { type: 'text/plain' }));
    return data;
  }, files);

test('are dropped anywhere on the page, pasted, removed, and sent to the workspace', async ({ app, server }) => {
  await app.goto('/chat');
  const dataTransfer = await transfer(app, [
    { name: 'notes <b>.txt', text: 'some notes' },
    { name: 'تقرير.txt', text: 'more' },
  ]);
  const heading = app.getByRole('heading', { name: 'New conversation' });
  await heading.dispatchEvent('dragover', { dataTransfer });
  await expect(app.getByText('Drop files to attach them')).toBeVisible();
  await heading.dispatchEvent('drop', { dataTransfer });
  await expect(app.getByText('Drop files to attach them')).toBeHidden();
  await expect(attached(app).getByRole('listitem')).toHaveCount(2);

  const clipboardData = await transfer(app, [{ name: 'pasted.txt', text: 'from the clipboard' }]);
  await box(app).evaluate((element, data) => {
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, clipboardData);
  await expect(attached(app)).toContainText('pasted.txt');
  await app.getByRole('button', { name: 'Remove تقرير.txt' }).click();
  await expect(attached(app).getByRole('listitem')).toHaveCount(2);

  await box(app).fill('look at this');
  await box(app).press('Enter');
  await expect(app).toHaveURL(/\/chat\/cnv_/);
  await ended(app);
  await expect(attached(app)).toHaveCount(0);
  const message = app.locator('article.user');
  await expect(message).toContainText('notes <b>.txt');
  await expect(message).toContainText('pasted.txt');
  const id = app.url().split('/').pop();
  const { session_id } = await server.api<{ session_id: string }>('GET', `/v1/conversations/${id}`);
  const files = JSON.stringify(await server.api('GET', `/v1/sessions/${session_id}/files?path=attachments`));
  expect(files).toContain('notes');
  expect(files).toContain('pasted');
  expect(files).not.toContain('تقرير');
});
