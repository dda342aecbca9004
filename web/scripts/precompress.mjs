// Writes a Brotli and a gzip copy beside each compressible file of `dist`, for a server that sends files as they are.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const dist = process.env.HEADWATER_DIST ?? fileURLToPath(new URL('../dist/', import.meta.url));
const COMPRESSIBLE = /\.(js|css|html|svg|json|map|ttf|wasm|txt|webmanifest)$/;
// Below this the headers cost more than is saved.
const SMALLEST = 512;
// The binary embeds only the copies of these (crates/web).
const ALWAYS = /\.(js|css)$/;

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

async function compress(file) {
  const content = await readFile(dist + file);
  const isAlways = ALWAYS.test(file);
  if (content.length < SMALLEST && !isAlways) return;
  const params = {
    // Quality 11 takes minutes for the editor's files; 9 is within a few percent of it.
    [constants.BROTLI_PARAM_QUALITY]: content.length > 1_000_000 ? 9 : 11,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  const [br, gz] = await Promise.all([brotli(content, { params }), zip(content, { level: 9 })]);
  for (const [suffix, packed] of [
    ['.br', br],
    ['.gz', gz],
  ]) {
    if (packed.length < content.length || isAlways) await writeFile(dist + file + suffix, packed);
    else await rm(dist + file + suffix, { force: true });
  }
}

const files = (await readdir(dist, { recursive: true })).filter((file) => COMPRESSIBLE.test(file));
for (const file of files) await compress(file);
console.log(`compressed ${files.length} files`);
