// What specs use: a real server for each file's worker, pages that are signed in, and a check that no page broke.
import AxeBuilder from '@axe-core/playwright';
import { test as base, expect, type Browser, type Page } from '@playwright/test';
import { TestServer } from './server.mjs';

export { expect, type Page };

interface Fixtures {
  /** A page that is signed in as the operator. */
  app: Page;
  /** A page in a browser without any cookie. */
  guest: Page;
}

/** Messages that are no fault of the app: requests that a spec makes fail on purpose. */
const EXPECTED = /Failed to load resource|net::ERR_|WebSocket connection to/;

/** Collects errors of a page; the returned function fails if there were any. */
export function watchErrors(page: Page): () => void {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(`${error.name}: ${error.message}\n${error.stack ?? ''}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) errors.push(message.text());
  });
  return () => expect(errors, 'errors in the console').toEqual([]);
}

export const test = base.extend<Fixtures, { server: TestServer }>({
  server: [
    // Playwright reads the names of fixtures from this pattern.
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const server = await TestServer.create();
      await use(server);
      await server.close();
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  baseURL: async ({ server }, use) => use(server.url),
  app: async ({ page, server }, use) => {
    const check = watchErrors(page);
    await signIn(page, server);
    await use(page);
    check();
  },
  guest: async ({ page }, use) => {
    const check = watchErrors(page);
    await use(page);
    check();
  },
});

/** Signs a page in by the printed address and opens the start page. */
export async function signIn(page: Page, server: TestServer, path = '/'): Promise<void> {
  await page.request.get(`${server.url}/login?token=${server.token}`, { maxRedirects: 0 });
  await page.goto(server.url + path);
  await expect(page.getByRole('navigation', { name: 'Main' })).toBeVisible();
}

/** A second browser context of the same or another person. */
export async function newPage(browser: Browser, server: TestServer, options: { signedIn: boolean }): Promise<Page> {
  const context = await browser.newContext({ baseURL: server.url });
  const page = await context.newPage();
  if (options.signedIn) await signIn(page, server);
  return page;
}

/** Fails if axe finds something serious. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'])
    .analyze();
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`).join('\n  ')}`,
    );
  expect(serious, 'axe').toEqual([]);
}

/** Fails if the page scrolls sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(excess).toBeLessThanOrEqual(0);
}
