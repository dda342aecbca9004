// docs/agents.md: every command of the recorded session works, and prints what the page shows. UPDATE_DOCS=1 records the
// session again.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { calls, says, startModel } from "./model.mjs";
import { parse, run, shape, write } from "./recorded.mjs";
import { startServer } from "./server.mjs";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const page = path("../../docs/agents.md");
const binary = await realpath(process.env.HEADWATER_BIN ?? path("../../target/x86_64-unknown-linux-gnu/debug/headwater"));

/** The project of the page: its build takes a moment and prints while it runs. */
const MAKEFILE = "all:\n\t@for step in 1 2 3; do echo compiling part $$step; sleep 1; done\n\t@echo built\n";

test("the recorded session of docs/agents.md is what the commands print", { timeout: 118_000 }, async (t) => {
  const home = await realpath(await mkdtemp(join(tmpdir(), "hw-agents-")));
  const [project, bin, data] = ["project", "bin", "data"].map((name) => join(home, name));
  for (const folder of [project, bin]) await mkdir(folder);
  await symlink(binary, join(bin, "headwater"));
  await symlink(path("../../examples"), join(project, "examples"));
  await writeFile(join(project, "Makefile"), MAKEFILE);
  const server = await startServer();
  const model = await startModel([
    calls(["call_1", "exec_command", '{"cmd": "echo $(( 6 * 7 ))"}']),
    says("6 * 7 is 42."),
  ]);
  t.after(async () => {
    model.stop();
    await server.stop();
    await promisify(execFile)(binary, ["stop", "--end-sessions", "--yes", "--data", data]);
    await rm(home, { recursive: true, force: true });
  });
  const env = {
    PATH: `${bin}:${path("node_modules/.bin")}:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: home, HEADWATER_DATA: data, HEADWATER_TOKEN: server.token, LANG: "C.UTF-8", MODEL_KEY: "key",
  };
  const here = (command) => command
    .replaceAll("http://127.0.0.1:8080", server.url)
    .replaceAll("https://api.openai.com/v1", model.url);
  const there = (output) => output
    .replaceAll(server.url, "http://127.0.0.1:8080")
    .replaceAll(binary, "/usr/local/bin/headwater")
    .replaceAll(home, "/home/me");

  const text = await readFile(page, "utf8");
  const shown = parse(text);
  const recorded = (await run(shown, { cwd: project, env, edit: here }))
    .map((block) => block.map(({ command, output }) => ({ command, output: there(output) })));
  if (process.env.UPDATE_DOCS) return writeFile(page, write(text, recorded));
  assert.ok(shown.flat().length > 15, "the page shows a session");
  recorded.flat().forEach(({ command, output }, n) => {
    assert.equal(shape(output), shape(shown.flat()[n].output), `$ ${command}\n(UPDATE_DOCS=1 records the page again)`);
  });
});
