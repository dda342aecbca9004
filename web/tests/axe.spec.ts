// Accessibility: axe finds nothing serious on any page, in both themes, and no page scrolls sideways at 360 px.
import { expect, expectAccessible, expectNoSidewaysScroll, test } from './harness';

interface Created {
  id: string;
}

for (const theme of ['light', 'dark'] as const) {
  test(`sign-in page, ${theme}`, async ({ guest, server }) => {
    await guest.emulateMedia({ colorScheme: theme });
    await guest.goto(server.url);
    await expect(guest.getByRole('heading', { name: 'Sign in' })).toBeVisible();
    await expectAccessible(guest);
  });

  test(`every page, ${theme}`, async ({ app, server }) => {
    test.setTimeout(180_000);
    await app.emulateMedia({ colorScheme: theme });
    const session = await server.api<Created>('POST', '/v1/sessions', { name: `axe ${theme}` });
    const execution = await server.api<Created>('POST', `/v1/sessions/${session.id}/executions`, {
      // Longer than the panel that shows it.
      shell: `echo out; echo err >&2; exit 3 # ${'long '.repeat(80)}\n${'# more\n'.repeat(60)}`,
    });
    await server.api('GET', `/v1/executions/${execution.id}?wait=10s`);
    const pages = [
      '/',
      '/chat',
      '/sessions',
      '/history',
      '/settings',
      '/settings/keys',
      '/settings/tokens',
      '/settings/account',
      '/admin',
      '/admin/doctor',
      '/admin/configuration',
      `/executions/${execution.id}`,
      `/sessions/${session.id}`,
    ];
    for (const path of pages) {
      await test.step(path, async () => {
        await app.setViewportSize({ width: 1440, height: 900 });
        await app.goto(server.url + path);
        await expect(app.locator('main')).not.toBeEmpty();
        await expect(app.locator('main h1').first()).toBeAttached();
        await expectAccessible(app);
        await app.setViewportSize({ width: 360, height: 740 });
        await expectNoSidewaysScroll(app);
      });
    }
    await app.setViewportSize({ width: 1440, height: 900 });
    await app.goto(server.url);
    await expect(app.getByRole('button', { name: 'Run', exact: true })).toBeVisible();
    await app.keyboard.press('Control+k');
    await expect(app.getByRole('dialog', { name: 'Commands' })).toBeVisible();
    await expectAccessible(app);
  });
}
