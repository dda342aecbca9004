// Nothing that a model writes, a program prints, a file or a conversation is called runs in the page or leaves it.
import { answer, begin, cards, code, ended, expect, on, rows, withModel } from './chat';
import { watch, type Incidents } from './incidents';

const EVIL = '<img src=http://evil.example/i onerror=alert(1)><svg onload=alert(2)></svg><script>alert(3)</script>';
const TEXT = `${EVIL}

Inline ${EVIL} and [click](javascript:alert(4)), [data](data:text/html,<script>alert(5)</script>),
![image](http://evil.example/p.png), <http://evil.example/auto>, [relative](/v1/logout)

<details open ontoggle=alert(6)><summary>x</summary></details>

<iframe src="http://evil.example/f"></iframe>

$\\href{javascript:alert(7)}{x}$ $\\includegraphics{http://evil.example/k.png}$ $\\htmlData{a=b}{y}$

\`\`\`mermaid
flowchart LR
  A["<img src=http://evil.example/m onerror=alert(8)>"] --> B
  click A "javascript:alert(9)"
\`\`\`

\`\`\`html
${EVIL}
\`\`\`
`;

const base = withModel([
  on('attack by text', { text: TEXT, reasoning: EVIL }),
  on(
    'attack by tools',
    {
      tool_calls: [
        code(
          'terminal',
          `printf '%s\\n' '${EVIL}'; printf '\\033]0;${EVIL}\\007\\033]8;;javascript:alert(1)\\007link\\033]8;;\\007\\n'`,
        ),
        { name: EVIL, arguments: { [EVIL]: EVIL } },
        { name: 'update_plan', arguments: { plan: [{ step: EVIL, status: 'pending' }], explanation: EVIL } },
        {
          name: 'apply_patch',
          arguments: { input: `*** Begin Patch\n*** Add File: ${EVIL.replaceAll('/', '')}\n+${EVIL}\n*** End Patch` },
        },
      ],
    },
    { text: 'Done.' },
  ),
]);

const test = base.extend<{ incidents: Incidents }>({
  incidents: async ({ app }, use) => {
    const incidents = await watch(app);
    await app.reload();
    await use(incidents);
    await incidents.expectNone();
  },
});
test.describe.configure({ timeout: 120_000 });

test('text of a model', async ({ app, incidents }) => {
  await begin(app, `attack by text ${EVIL}`);
  await ended(app);
  await expect(answer(app)).toContainText('<script>alert(3)</script>');
  await answer(app).getByText('Thoughts').click();
  await expect(answer(app).locator('iframe, script, details[ontoggle]')).toHaveCount(0);
  for (const link of await answer(app).locator('a').all()) {
    expect(await link.getAttribute('href')).toMatch(/^https?:/);
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
  }
  // The diagram is drawn, or refused, after its part was loaded.
  await expect(answer(app).locator('img, .note').first()).toBeVisible({ timeout: 30_000 });
  await incidents.expectNone();
});

test('arguments, names and output of tools', async ({ app, incidents }) => {
  await begin(app, 'attack by tools');
  await ended(app);
  await expect(rows(cards(app, 'code_execution')).first()).toContainText('<script>alert(3)</script>');
  for (const toggle of await app.locator('[data-tool] .toggle[aria-expanded=false]').all()) await toggle.click();
  await incidents.expectNone();
});
