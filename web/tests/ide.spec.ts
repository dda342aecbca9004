// The IDE: files, editors, running and building, conflicts, unsaved text, and names and files that try to run scripts.
import { expect, expectAccessible, expectNoSidewaysScroll, newPage, test, watchErrors } from './harness';
import { button, editor, entry, newSession, open, output, read, status, type, write } from './ide';

const CONFLICT = 'This file was changed by something else while you edited it.';
const BROKEN = '#include <iostream>\nint main() {\n    int unused = 1;\n    std::cout << "é" << 1\n}\n';
const HELLO = '#include <iostream>\nint main() { std::cout << "built and run\\n"; }\n';

test('an empty workspace offers samples, Run Python shows the output, and the palette has the commands', async ({
  app,
  server,
}) => {
  const session = await newSession(server);
  await open(app, session);
  await app.getByRole('button', { name: 'Python main.py' }).click();
  await expect(editor(app)).toContainText('def main');
  const logged = app.waitForEvent('console', (message) => message.text().includes('selectedFile: main.py'));
  const request = app.waitForRequest((sent) => sent.method() === 'POST' && sent.url().endsWith('/executions'));
  await button(app, 'Run Python').click();
  expect((await request).postDataJSON()).toMatchObject({ language: 'python', file: 'main.py' });
  await logged;
  await expect(output(app)).toContainText('step 5 of 5');
  await expect(output(app)).toContainText('exited with 0');
  await expect(button(app, 'Run Python')).toBeEnabled();
  await expectAccessible(app);
  // The palette has the commands of the IDE, also with the focus in the editor.
  await editor(app).locator('.view-lines').click();
  await app.keyboard.press('ControlOrMeta+k');
  await app.keyboard.type('show the problems');
  await app.keyboard.press('Enter');
  await expect(app.getByRole('tab', { name: 'Problems' })).toHaveAttribute('aria-selected', 'true');
});

test('a new file is typed, saved and run with arguments and input', async ({ app, server }) => {
  const session = await newSession(server, { 'readme.md': '# hi\n' });
  await open(app, session);
  await app.getByRole('button', { name: 'New file' }).first().click();
  await app.getByRole('textbox', { name: 'Name' }).fill('src/echo.py');
  await app.keyboard.press('Enter');
  await expect(app.getByRole('tab', { name: /echo\.py/ })).toBeVisible();
  await expect(entry(app, 'echo.py')).toBeVisible();
  await type(app, 'import sys\nprint("args", sys.argv[1:])\nprint("got", input())\n');

  await app.getByRole('button', { name: 'Arguments, input and limits' }).click();
  await app.getByRole('textbox', { name: 'Arguments' }).fill('one "two three"');
  await app.getByRole('button', { name: 'Done' }).click();
  // Running saves first.
  await editor(app).locator('.view-lines').click();
  await app.keyboard.press('ControlOrMeta+Enter');
  await expect(output(app)).toContainText("args ['one', 'two three']");
  await app.getByRole('textbox', { name: 'Input for the running program' }).fill('a line');
  await app.keyboard.press('Enter');
  await expect(output(app)).toContainText('got a line');
  expect(await read(server, session, 'src/echo.py')).toContain('sys.argv');
});

test('Build, Run Binary, and Build & Run on the first click', async ({ app, server }) => {
  const session = await newSession(server, { 'main.cpp': HELLO, 'other.cpp': HELLO.replace('built', 'other') });
  await open(app, session, 'main.cpp');
  await expect(button(app, 'Run Binary')).toHaveCount(0);
  await button(app, 'Build').click();
  await expect(button(app, 'Run Binary')).toBeVisible({ timeout: 40_000 });
  await button(app, 'Run Binary').click();
  await expect(output(app)).toContainText('built and run');

  await entry(app, 'other.cpp').click();
  await expect(button(app, 'Run Binary')).toHaveCount(0);
  await button(app, 'Build & Run').click();
  await expect(output(app)).toContainText('other and run', { timeout: 40_000 });
});

test('errors of a build are markers and problems, and the fix-it repairs the file', async ({ app, server }) => {
  const session = await newSession(server, { 'main.cpp': BROKEN });
  await open(app, session, 'main.cpp');
  await button(app, 'Build').click();
  await expect(status(app).getByRole('button', { name: /1 errors, 1 warnings/ })).toBeVisible({
    timeout: 40_000,
  });
  await expect(button(app, 'Run Binary')).toHaveCount(0);
  await app.getByRole('tab', { name: /Problems/ }).click();
  await app.getByRole('button', { name: /expected ‘;’|expected ';'/ }).click();
  await expect(status(app)).toContainText('Ln 4, Col 26');
  await expect(editor(app).locator('.squiggly-error')).toBeVisible();
  await app.keyboard.press('ControlOrMeta+.');
  await app.getByText(/^Fix: expected/).click();
  await expect(editor(app)).toContainText('<< 1;');
  await button(app, 'Build & Run').click();
  await expect(output(app)).toContainText('é1', { timeout: 40_000 });
});

test('compiler flags are chosen and remembered', async ({ app, server }) => {
  const session = await newSession(server, { 'main.cpp': HELLO });
  await open(app, session, 'main.cpp');
  await app.getByRole('button', { name: 'Compiler flags' }).click();
  await app.getByLabel('Optimisation').selectOption('-O3');
  await app.getByLabel('Debug symbols (-g)').check();
  await expect(app.getByRole('dialog')).toContainText('g++ -std=c++17 -O3 -g -Wall -o build/main main.cpp');
  await app.getByRole('button', { name: 'Done' }).click();
  await app.reload();
  await expect(editor(app)).toBeVisible();
  const request = app.waitForRequest((sent) => sent.url().endsWith('/builds') && sent.method() === 'POST');
  await button(app, 'Build').click();
  expect((await request).postDataJSON()).toMatchObject({ flags: ['-std=c++17', '-O3', '-g', '-Wall'] });
});

test('two tabs of one file: a clean one follows, a changed one is asked', async ({ app, browser, server }) => {
  const session = await newSession(server, { 'a.py': 'one\n' });
  await open(app, session, 'a.py');
  await expect(editor(app)).toContainText('one');
  const other = await newPage(browser, server, { signedIn: true });
  const check = watchErrors(other);
  await open(other, session, 'a.py');
  await expect(editor(other)).toContainText('one');

  await type(app, 'two\n');
  await app.keyboard.press('ControlOrMeta+S');
  await expect(editor(other)).toContainText('two');

  await type(other, 'mine\n');
  await type(app, 'three\n');
  await app.keyboard.press('ControlOrMeta+S');
  await expect(other.getByText(CONFLICT)).toBeVisible();
  await other.getByRole('button', { name: 'Compare' }).click();
  await expect(other.locator('.monaco-diff-editor')).toContainText('three');
  await other.getByRole('button', { name: 'Keep mine' }).click();
  await expect(other.getByText(CONFLICT)).toHaveCount(0);
  await expect.poll(() => read(server, session, 'a.py')).toBe('mine\n');
  await expect(editor(app)).toContainText('mine');

  await type(app, 'lost\n');
  await write(server, session, 'a.py', 'theirs\n');
  await app.getByRole('button', { name: 'Take theirs' }).click();
  await expect(editor(app)).toContainText('theirs');
  await app.getByRole('button', { name: 'Undo' }).last().click();
  await expect(editor(app)).toContainText('lost');
  check();
  await other.context().close();
});

test('rename, move, delete with undo', async ({ app, server }) => {
  const session = await newSession(server, { 'old.py': 'print(1)\n', 'lib/x.py': '' });
  await open(app, session, 'old.py');
  await expect(editor(app)).toContainText('print');
  await type(app, 'print(2)\n');
  await entry(app, 'old.py').click();
  await app.getByRole('tree').focus();
  await app.keyboard.press('F2');
  await app.getByRole('textbox', { name: 'Name' }).fill('new.py');
  await app.keyboard.press('Enter');
  await expect(app.getByRole('tab', { name: /new\.py/ })).toBeVisible();
  await expect(entry(app, 'old.py')).toHaveCount(0);
  // Unsaved text goes with the name, and saving is no conflict.
  await editor(app).locator('.view-lines').click();
  await app.keyboard.press('ControlOrMeta+S');
  await expect.poll(() => read(server, session, 'new.py')).toBe('print(2)\n');

  await entry(app, 'new.py').dragTo(entry(app, 'lib'));
  await expect.poll(() => read(server, session, 'lib/new.py')).toBe('print(2)\n');
  await expect(app.locator('[role=treeitem][data-path="lib/new.py"]')).toBeVisible();
  // The old place goes with the next answer of the watch.
  await expect(entry(app, 'new.py')).toHaveCount(1);

  await entry(app, 'new.py').click();
  await app.getByRole('tree').focus();
  await app.keyboard.press('Delete');
  await expect(entry(app, 'new.py')).toHaveCount(0);
  expect(await read(server, session, 'lib/new.py')).toBe(null);
  await app.getByText('new.py deleted').locator('xpath=ancestor::li').getByRole('button', { name: 'Undo' }).click();
  await expect(entry(app, 'new.py')).toBeVisible();
  await expect.poll(() => read(server, session, 'lib/new.py')).toBe('print(2)\n');
});

test('the menu of an entry names a new file and renames', async ({ app, server }) => {
  const session = await newSession(server, { 'lib/old.txt': 'kept\n' });
  await open(app, session);
  await entry(app, 'lib').click({ button: 'right' });
  await app.getByRole('menuitem', { name: 'New file' }).click();
  await app.getByRole('textbox', { name: 'Name' }).fill('new.txt');
  await app.keyboard.press('Enter');
  await expect(app.getByRole('tab', { name: /new\.txt/ })).toBeVisible();
  await expect.poll(() => read(server, session, 'lib/new.txt')).toBe('');
  await entry(app, 'old.txt').click({ button: 'right' });
  await app.getByRole('menuitem', { name: 'Rename' }).click();
  await app.getByRole('textbox', { name: 'Name' }).fill('other.txt');
  await app.keyboard.press('Enter');
  await expect.poll(() => read(server, session, 'lib/other.txt')).toBe('kept\n');
});

test('what programs write appears by itself', async ({ app, server }) => {
  const session = await newSession(server, { 'a.txt': 'before\n' });
  await open(app, session, 'a.txt');
  await expect(editor(app)).toContainText('before');
  await server.api('POST', `/v1/sessions/${session}/executions`, {
    shell: 'echo after > a.txt; mkdir made; echo 1 > made/b.txt',
  });
  await expect(editor(app)).toContainText('after');
  await entry(app, 'made').click();
  await expect(entry(app, 'b.txt')).toBeVisible();
});

test('unsaved text survives a reload, and a change underneath it is a conflict', async ({ app, server }) => {
  const session = await newSession(server, { 'a.py': 'saved\n' });
  await open(app, session, 'a.py');
  await expect(editor(app)).toContainText('saved');
  await type(app, 'precious\n');
  await app.reload();
  await expect(editor(app)).toContainText('precious');
  await expect(app.getByText('Unsaved text of a.py was restored')).toBeVisible();
  expect(await read(server, session, 'a.py')).toBe('saved\n');
  await write(server, session, 'a.py', 'else\n');
  await expect(app.getByText(CONFLICT)).toBeVisible();
  await app.reload();
  await expect(editor(app)).toContainText('precious');
  await expect(app.getByText(CONFLICT)).toBeVisible();
});

test('search by name, search and replace by content', async ({ app, server }) => {
  const session = await newSession(server, { 'src/deep/target.py': 'alpha = 1\nalpha = 2\n', 'b.py': 'alpha\n' });
  await open(app, session);
  await app.keyboard.press('ControlOrMeta+P');
  await app.getByRole('combobox', { name: 'Find a file by name' }).fill('targ');
  await expect(app.getByRole('option', { name: /target\.py/ })).toBeVisible();
  await app.keyboard.press('Enter');
  await expect(editor(app)).toContainText('alpha = 2');

  await app.keyboard.press('ControlOrMeta+Shift+F');
  await app.getByRole('searchbox', { name: 'Search in files' }).fill('alpha');
  await expect(app.getByText('3 matches in 2 files')).toBeVisible();
  await app.getByRole('textbox', { name: 'Replace with' }).fill('beta');
  await app.getByRole('button', { name: 'Replace all', exact: true }).click();
  await expect.poll(() => read(server, session, 'b.py')).toBe('beta\n');
  await expect(editor(app)).toContainText('beta = 2');
  await app.getByRole('button', { name: 'Undo' }).last().click();
  await expect.poll(() => read(server, session, 'b.py')).toBe('alpha\n');
});

test('files are uploaded, and existing ones are left until somebody says otherwise', async ({ app, server }) => {
  const session = await newSession(server, { 'a.txt': 'old\n' });
  await open(app, session);
  const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('uploaded\n') });
  await app.locator('input[type=file]:not([webkitdirectory])').setInputFiles([file('a.txt'), file('b.txt')]);
  await expect(entry(app, 'b.txt')).toBeVisible();
  await expect(app.getByText('1 file exists already')).toBeVisible();
  expect(await read(server, session, 'a.txt')).toBe('old\n');
  await app.getByRole('button', { name: 'Replace', exact: true }).click();
  await expect.poll(() => read(server, session, 'a.txt')).toBe('uploaded\n');
});

test('names, SVG and HTML files run nothing', async ({ app, server }) => {
  const name = '<img src=x onerror="window.hacked=1">.py';
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="top.hacked=1"><script>top.hacked=1</script></svg>';
  const html = '<script>top.hacked=1</script><img src=x onerror="top.hacked=1">';
  const session = await newSession(server, { [name]: 'print(1)', 'a.svg': svg, 'a.html': html });
  await open(app, session);
  await entry(app, 'onerror').click();
  await expect(app.getByRole('tab', { name: /onerror/ })).toBeVisible();
  await entry(app, 'a.html').click();
  await expect(editor(app)).toContainText('script');
  await entry(app, 'a.svg').click();
  await app.getByRole('tab', { name: 'Preview' }).click();
  await expect(app.getByRole('img', { name: 'The picture a.svg' })).toBeVisible();
  await app.getByRole('tree').focus();
  await app.keyboard.press('Home');
  await app.keyboard.press('Delete');
  await expect(app.getByText(/deleted/)).toBeVisible();
  expect(await app.evaluate(() => 'hacked' in window)).toBe(false);
  // A file is never shown by its own address.
  const answer = await app.request.get(`/v1/sessions/${session}/files/content?path=a.html`);
  expect(answer.headers()['content-disposition']).toContain('attachment');
});

test('pictures, bytes and large files are shown as what they are', async ({ app, server }) => {
  const session = await newSession(server);
  await server.api('POST', `/v1/sessions/${session}/executions?lossless=false`, {
    shell: 'head -c 100 /dev/zero > zero.bin; head -c 9000000 /dev/zero | tr "\\0" "a" > large.txt',
  });
  await open(app, session);
  await entry(app, 'large.txt').click();
  await expect(app.getByText('too large for the editor')).toBeVisible();
  await entry(app, 'zero.bin').click();
  await expect(app.getByText('This file is not text.')).toBeVisible();
  await expect(app.getByLabel('The first bytes')).toContainText('00000000  00 00');
});

test('the layout is remembered, splits, and has a zen mode', async ({ app, server }) => {
  const session = await newSession(server, { 'a.py': 'a\n', 'b.py': 'b\n' });
  await open(app, session, 'a.py');
  await app.getByRole('button', { name: 'Split the editor' }).click();
  await expect(app.locator('.monaco-editor[role=code]')).toHaveCount(2);
  await entry(app, 'b.py').click();
  await app.keyboard.press('ControlOrMeta+`');
  await expect(app.getByRole('tab', { name: 'Terminal' })).toBeHidden();
  await app.reload();
  await expect(app.locator('.monaco-editor[role=code]')).toHaveCount(2);
  await expect(app.getByRole('tab', { name: 'Terminal' })).toBeHidden();
  await app.getByRole('button', { name: /Zen mode/ }).click();
  await expect(app.getByRole('tree')).toBeHidden();
  await app.getByRole('button', { name: /Leave zen mode/ }).click();
  await expect(app.getByRole('tree')).toBeVisible();
});

test('a phone shows one part at a time', async ({ app, server }) => {
  await app.setViewportSize({ width: 360, height: 740 });
  const session = await newSession(server, { 'main.py': 'print("on a phone")\n' });
  await open(app, session);
  await entry(app, 'main.py').click();
  await button(app, 'Run Python').click();
  await expect(output(app)).toContainText('on a phone');
  await expectNoSidewaysScroll(app);
  await app.getByRole('navigation', { name: 'Parts of the IDE' }).getByRole('button', { name: 'Editor' }).click();
  await expect(editor(app)).toContainText('on a phone');
  await expectAccessible(app);
});
