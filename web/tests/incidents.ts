// What an attack would do in a page, and how a spec notices it.
import { expect, type Page } from './harness';

/** What a page must never do. */
export interface Incidents {
  readonly found: string[];
  expectNone(): Promise<void>;
}

/** Notes dialogs, windows, requests to other hosts, violations of the policy, and elements that only an attack makes. */
export async function watch(page: Page): Promise<Incidents> {
  const found: string[] = [];
  page.on('dialog', (dialog) => {
    found.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.context().on('page', (opened) => found.push(`window ${opened.url()}`));
  page.context().on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (/^https?:|^wss?:/.test(protocol) && hostname !== '127.0.0.1') found.push(`request ${request.url()}`);
  });
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) found.push(`policy ${message.text()}`);
  });
  await page.exposeFunction('noteViolation', (text: string) => found.push(`violation ${text}`));
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      const note = (window as unknown as { noteViolation: (text: string) => void }).noteViolation;
      note(`${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  return {
    found,
    async expectNone() {
      const made = page.locator(
        'img[src*="evil.example"], img[src="x"], svg[onload], [onerror], a[href^="javascript:" i]',
      );
      await expect(made).toHaveCount(0);
      // What an attack started a moment ago needs time to be noticed.
      await page.waitForTimeout(300);
      expect(found).toEqual([]);
    },
  };
}
