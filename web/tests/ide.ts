// What the specs of the IDE share: sessions with files, and the parts of the page.
import type { Locator } from '@playwright/test';
import { expect, type Page } from './harness';
import type { TestServer } from './server.mjs';

export async function newSession(server: TestServer, files: Record<string, string> = {}): Promise<string> {
  const { id } = await server.api<{ id: string }>('POST', '/v1/sessions', {});
  for (const [path, content] of Object.entries(files)) await write(server, id, path, content);
  return id;
}

/** Writes a file as a program would: without asking what is there. */
export async function write(server: TestServer, session: string, path: string, content: string): Promise<void> {
  await server.api('POST', '/v1/sessions/files/write', { session_id: session, path, content });
}

export async function read(server: TestServer, session: string, path: string): Promise<string | null> {
  try {
    const body = { session_id: session, path };
    return (await server.api<{ content: string }>('POST', '/v1/sessions/files/read', body)).content;
  } catch {
    return null;
  }
}

export async function open(page: Page, session: string, file?: string): Promise<void> {
  await page.goto(`/sessions/${session}${file === undefined ? '' : `?file=${encodeURIComponent(file)}`}`);
  if (file === undefined) await expect(page.getByRole('tree')).toBeVisible();
  else await expect(editor(page)).toBeVisible();
}

export function editor(page: Page): Locator {
  return page.locator('.monaco-editor[role=code]').first();
}

export function entry(page: Page, name: string): Locator {
  return page.getByRole('treeitem').filter({ hasText: name });
}

export function output(page: Page): Locator {
  return page.getByRole('region', { name: 'Output' }).first();
}

export function status(page: Page): Locator {
  return page.getByRole('group', { name: 'Status' });
}

/** Replaces the whole text of the editor by typing. */
export async function type(page: Page, text: string): Promise<void> {
  await editor(page).locator('.view-lines').click();
  await page.keyboard.press('ControlOrMeta+A');
  // As one insertion: Monaco would close brackets and indent typed keys.
  await page.keyboard.insertText(text);
  await expect(status(page).getByText('not saved')).toBeVisible();
}

export function button(page: Page, name: string): Locator {
  return page.getByRole('toolbar', { name: 'Run' }).getByRole('button', { name, exact: true });
}
