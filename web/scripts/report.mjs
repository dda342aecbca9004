// Prints how much JavaScript the first load needs (the entry and its static imports) and fails above the budget.
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
const chunks = [...collect(entry)].map((key) => manifest[key].file);
// What the start page loads right after the entry counts too: the first load is what a person waits for.
const home = [...collect('src/routes/Home.svelte')].map((key) => manifest[key].file);
const first = [...new Set([...chunks, ...home])];

let br = 0;
let gz = 0;
let raw = 0;
for (const file of first) {
  const sizes = [statSync(dist + file).size, packed(file, '.gz', gzipSync), packed(file, '.br', brotliCompressSync)];
  raw += sizes[0];
  gz += sizes[1];
  br += sizes[2];
  console.log(`${file.padEnd(44)} ${sizes.map((size) => kilo(size).padStart(10)).join(' ')}`);
}
console.log(
  `${'first load with the start page'.padEnd(44)} ${[raw, gz, br].map((size) => kilo(size).padStart(10)).join(' ')}`,
);
console.log(`${''.padEnd(44)} ${['raw', 'gzip', 'brotli'].map((word) => word.padStart(10)).join(' ')}`);

const all = readdirSync(`${dist}assets`).filter((file) => file.endsWith('.js'));
const total = all.reduce((sum, file) => sum + statSync(`${dist}assets/${file}`).size, 0);
console.log(`${all.length} scripts in all, ${kilo(total)} raw`);

const heavy = first.filter((file) => /monaco|editor\.api|bundle-|xterm/.test(file));
if (heavy.length > 0) {
  console.error(`The first load must not contain ${heavy.join(', ')}.`);
  process.exit(1);
}
if (gz > BUDGET) {
  console.error(`The first load needs ${kilo(gz)} of compressed JavaScript; the budget is ${kilo(BUDGET)}.`);
  process.exit(1);
}
