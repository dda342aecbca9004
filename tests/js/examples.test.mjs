// The agent loop of examples/ in TypeScript, with a scripted model and a real server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { calls, says, startModel } from "./model.mjs";
import { startServer } from "./server.mjs";

const run = promisify(execFile);
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const example = path("../../examples/agent.ts");

let server;
before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

test("the types of the agent loop in TypeScript are right", async () => {
  const flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node"];
  await run(path("node_modules/.bin/tsc"), [...flags, "--typeRoots", path("node_modules/@types"), example]);
});

test("the agent loop in TypeScript works", async (t) => {
  const model = await startModel([
    calls(["c1", "write_file", '{"file_path":"n.txt","content":"6 * 7\\n"}']),
    calls(["c2", "no_such_tool", "{}"], ["c3", "exec_command", "{not json"]),
    calls(["c4", "exec_command", '{"cmd":"echo $(( $(cat n.txt) ))"}']),
    says("It is 42."),
  ]);
  t.after(model.stop);
  const env = { ...process.env, MODEL_URL: model.url, HEADWATER_URL: server.url, HEADWATER_TOKEN: server.token, CONVERSATION: "example" };
  const { stdout } = await run(path("node_modules/.bin/tsx"), [example, "What is in n.txt?"], { env, timeout: 100_000 });
  assert.equal(stdout, "It is 42.\n");
  assert.equal(model.requests.length, 4);
  const { messages, tools } = model.requests.at(-1);
  assert.equal(tools.length, 17);
  const result = (id) => messages.find(({ tool_call_id }) => tool_call_id === id).content;
  assert.match(result("c2"), /there is no tool `no_such_tool`/);
  assert.notEqual(result("c3"), "");
  assert.match(result("c4"), /42/);
  assert.equal((await server.get("/v1/executions?conversation_id=example")).items.length, 1);
});

test("the agent loop in TypeScript ends with an error if the model has one", async () => {
  const env = { ...process.env, MODEL_URL: `${server.url}/no-model`, HEADWATER_URL: server.url, HEADWATER_TOKEN: server.token };
  await assert.rejects(run(path("node_modules/.bin/tsx"), [example, "x"], { env, timeout: 100_000 }), /Error/);
});
