// Writes src/generated/openapi.ts from docs/openapi.json. With --check it writes nothing and fails if the file differs.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const source = new URL('../../../docs/openapi.json', import.meta.url);
const target = new URL('../src/generated/openapi.ts', import.meta.url);
const header = '// Generated from docs/openapi.json by `npm run generate`. Do not edit.\n\n';

const generated = header + astToString(await openapiTS(source));
if (process.argv.includes('--check')) {
  const current = await readFile(target, 'utf8').catch(() => '');
  if (current !== generated) {
    console.error('src/generated/openapi.ts does not match docs/openapi.json. Run `npm run generate`.');
    process.exit(1);
  }
} else {
  await writeFile(target, generated);
}
