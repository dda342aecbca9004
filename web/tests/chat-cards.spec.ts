// Cards that are no output: images, sub-agents, consent by keyboard and for a whole conversation.
import {
  answer,
  askAlways,
  begin,
  box,
  cards,
  code,
  ended,
  expect,
  on,
  rows,
  signal,
  until,
  withModel,
  type Page,
} from './chat';
import { expectAccessible, expectNoSidewaysScroll } from './harness';

const DONE = { text: 'That is all.' };
/** Draws a picture of 8 by 8 red pixels. */
const DRAW = `import struct, zlib
def part(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
rows = (b"\\0" + b"\\xff\\0\\0" * 8) * 8
with open("red.png", "wb") as file:
    file.write(b"\\x89PNG\\r\\n\\x1a\\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))`;
const ask = (cmd: string) => ({
  tool_calls: [{ name: 'exec_command', arguments: { cmd, justification: 'May I?' } }],
});

const test = withModel([
  on(
    'draw it',
    { tool_calls: [code('python', DRAW)] },
    { tool_calls: ['red.png', 'missing.png'].map((path) => ({ name: 'view_image', arguments: { path } })) },
    DONE,
  ),
  on(
    'delegate it',
    {
      tool_calls: [
        { name: 'spawn_agent', arguments: { message: 'the part of the child' } },
        code('terminal', until('end-of-parent')),
      ],
    },
    DONE,
  ),
  on(
    'the part of the child',
    { tool_calls: [code('terminal', `echo from the child; ${until('end-of-child')}`)] },
    { text: 'The child has done its part.' },
  ),
  on('ask twice', ask('touch a; echo first'), ask('touch a; echo first'), DONE),
  on('ask once', ask('touch a; echo by keyboard'), DONE),
]);

// Each flow takes seconds; machines that build at the same time take longer.
test.describe.configure({ timeout: 120_000 });

test('shows an image of the workspace, and says if there is none', async ({ app }) => {
  await begin(app, 'draw it');
  await ended(app);
  const [red, missing] = [cards(app, 'view_image').first(), cards(app, 'view_image').last()];
  const image = red.getByRole('img', { name: 'The image red.png' });
  await expect(image).toBeVisible();
  expect(await image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(8);
  await expect(missing).toHaveAttribute('data-state', 'failed');
  await expect(missing).toContainText('missing.png');
  await expectAccessible(app);
});

test('shows a sub-agent at work in the card that started it, with cards of its own', async ({ app, server }) => {
  const id = await begin(app, 'delegate it');
  const card = cards(app, 'spawn_agent');
  const inner = card.locator('[data-tool="code_execution"]');
  await expect(rows(inner)).toHaveText(['from the child']);
  await expect(card).toHaveAttribute('data-state', 'background');
  await expect(inner).toHaveAttribute('data-state', 'running');
  await app.reload();
  await expect(rows(inner)).toHaveText(['from the child']);
  await expectAccessible(app);
  await app.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(app);
  await signal(server, id, 'end-of-child');
  await expect(card).toContainText('The child has done its part.');
  await expect(card).toHaveAttribute('data-state', 'succeeded');
  await signal(server, id, 'end-of-parent');
  await ended(app);
  // It is a conversation of its own, which is not in the list.
  await card.getByRole('link', { name: 'Open the conversation of the sub-agent' }).click();
  await expect(answer(app)).toContainText('The child has done its part.');
  await expect(app).not.toHaveURL(new RegExp(id));
});

test('is asked once if the consent is for the conversation', async ({ app }) => {
  await askAlways(app);
  await begin(app, 'ask twice');
  const both = cards(app, 'exec_command');
  await both.first().getByRole('button', { name: 'Allow in this conversation' }).click();
  await ended(app);
  await expect(both).toHaveCount(2);
  await expect(both.first()).toContainText('Allowed in this conversation');
  for (const card of await both.all()) await expect(rows(card)).toHaveText(['first']);
  await expect(both.last().getByRole('group', { name: 'May the agent do this?' })).toHaveCount(0);
});

/** Presses a key until an element has the focus. */
async function press(app: Page, key: string, label: string): Promise<void> {
  const focused = app.locator(':focus');
  for (let step = 0; step < 40; step += 1) {
    if (((await focused.getAttribute('aria-label')) ?? (await focused.textContent()))?.trim() === label) return;
    await app.keyboard.press(key);
  }
  throw new Error(`${label} cannot be reached with ${key}`);
}

test('takes consent by keyboard alone', async ({ app }) => {
  await askAlways(app);
  await begin(app, 'ask once');
  const card = cards(app, 'exec_command');
  await expect(card).toHaveAttribute('data-state', 'approval');
  await expect(box(app)).toBeFocused();
  await press(app, 'Shift+Tab', 'Allow once');
  await app.keyboard.press('Enter');
  await expect(rows(card)).toHaveText(['by keyboard']);
  await ended(app);
});
