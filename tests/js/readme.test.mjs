// The README's curl examples, run as they are printed.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { startServer } from "./server.mjs";

const run = promisify(execFile);
let server;
before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

/** Blocks of shell in the section about the API; each may print what a `#=>` comment below a line says. */
async function examples() {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]);
  return blocks.filter((block) => block.includes("curl"));
}

test("every curl example of the README works and prints what the README says", async () => {
  const blocks = await examples();
  assert.ok(blocks.length > 0, "the README shows curl");
  for (const block of blocks) {
    const expected = [...block.matchAll(/#=> (.*)/g)].map((match) => match[1]);
    const script = block.replaceAll("http://127.0.0.1:8080", server.url).replaceAll("ws://127.0.0.1:8080", `ws://${server.address}`);
    const env = { ...process.env, HEADWATER_TOKEN: server.token };
    // Twice: a person tries again, and what is said once for all (a key, a name) must not be in the way.
    for (let turn = 0; turn < 2; turn++) {
      const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], { env, timeout: 60_000 });
      for (const words of expected) assert.ok(stdout.includes(words), `${block}\nprinted\n${stdout}\nwithout ${words}`);
    }
  }
});
