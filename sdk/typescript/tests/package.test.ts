// The package as users get it: built, packed, installed, and the first program of the README run by plain Node.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Server } from './server.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
let server: Server;
let folder: string;
beforeAll(async () => {
  server = await Server.start();
  folder = await mkdtemp(join(tmpdir(), 'hw-package-'));
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('the generated types match docs/openapi.json', async () => {
  await run('node', ['scripts/generate.mjs', '--check'], { cwd: root });
});

test('the first program of the README runs with the packed package', async () => {
  const { stdout: packed } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root });
  const [{ filename, files }] = JSON.parse(packed.slice(packed.indexOf('['))) as [
    { filename: string; files: { path: string }[] },
  ];
  const paths = files.map((file) => file.path);
  expect(paths).toContain('dist/index.js');
  expect(paths).toContain('dist/index.d.ts');
  expect(paths.filter((path) => path.includes('test'))).toEqual([]);

  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${filename}`], { cwd: folder });
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const program = /<!-- test: first program -->\n+```js\n(.*?)```/s.exec(readme)?.[1];
  expect(program?.split('\n').length).toBeLessThanOrEqual(12);
  await writeFile(join(folder, 'first.js'), program!);
  const env = { ...process.env, HEADWATER_URL: server.url, HEADWATER_TOKEN: server.token };
  const { stdout } = await run('node', ['first.js'], { cwd: folder, env });
  expect(stdout).toBe('true 0 line 0\nline 1\nline 2\n\n');
});
