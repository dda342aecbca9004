// Prints how much JavaScript the first loads need (the entry, the page and their static imports); fails above the budget.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const dist = process.env.HEADWATER_DIST ?? fileURLToPath(new URL('../dist/', import.meta.url));
const BUDGET = 150 * 1000;

const manifest = JSON.parse(readFileSync(`${dist}.vite/manifest.json`, 'utf8'));
const kilo = (size) => `${(size / 1000).toFixed(1)} KB`;

function packed(file, suffix, pack) {
  return existsSync(dist + file + suffix)
    ? statSync(dist + file + suffix).size
    : pack(readFileSync(dist + file)).length;
}

function collect(key, found = new Set()) {
  if (found.has(key)) return found;
  found.add(key);
  for (const next of manifest[key].imports ?? []) collect(next, found);
  return found;
}

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);

/** Prints what a page loads before it can be used, and returns its files and their size with gzip. */
function report(name, page) {
  // What the page loads right after the entry counts too: the first load is what a person waits for.
  const chunks = [...collect(entry), ...collect(page)].map((key) => manifest[key].file);
  const files = [...new Set(chunks)];
  const total = [0, 0, 0];
  for (const file of files) {
    const sizes = [statSync(dist + file).size, packed(file, '.gz', gzipSync), packed(file, '.br', brotliCompressSync)];
    sizes.forEach((size, at) => (total[at] += size));
    console.log(`${file.padEnd(44)} ${sizes.map((size) => kilo(size).padStart(10)).join(' ')}`);
  }
  console.log(`${`first load of ${name}`.padEnd(44)} ${total.map((size) => kilo(size).padStart(10)).join(' ')}`);
  console.log(`${''.padEnd(44)} ${['raw', 'gzip', 'brotli'].map((word) => word.padStart(10)).join(' ')}\n`);
  return { name, files, gz: total[1] };
}

const pages = [report('the start page', 'src/routes/Home.svelte'), report('the chat', 'src/routes/Chat.svelte')];

const all = readdirSync(`${dist}assets`).filter((file) => file.endsWith('.js'));
const total = all.reduce((sum, file) => sum + statSync(`${dist}assets/${file}`).size, 0);
console.log(`${all.length} scripts in all, ${kilo(total)} raw`);

for (const { name, files, gz } of pages) {
  const heavy = files.filter((file) => /monaco|editor\.api|bundle-|xterm|katex|mermaid/.test(file));
  if (heavy.length > 0) {
    console.error(`The first load of ${name} must not contain ${heavy.join(', ')}.`);
    process.exit(1);
  }
  if (gz > BUDGET) {
    console.error(
      `The first load of ${name} needs ${kilo(gz)} of compressed JavaScript; the budget is ${kilo(BUDGET)}.`,
    );
    process.exit(1);
  }
}
