// The official TypeScript SDKs ask their person: version 1 answers a request of the server, version 2 repeats the call
// with the answer.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const binary = process.env.HEADWATER_BIN
  ?? fileURLToPath(new URL("../../target/x86_64-unknown-linux-gnu/debug/headwater", import.meta.url));

const info = { name: "sdk-test", version: "1" };
const capabilities = { elicitation: { form: {} } };
const sdks = [
  ["version 1 of the SDK", Transport1, () => new Client1(info, { capabilities }), ElicitRequestSchema],
  ["version 2 of the SDK, without a handshake", Transport2,
    () => new Client2(info, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } }), "elicitation/create"],
];

for (const [title, Transport, create, elicitation] of sdks) describe(title, () => {
  let folder;
  let client;
  /** What the person says next, and what they were asked. */
  let decision;
  let asked = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "hw-ask-"));
    // A session may not contain the data folder.
    await mkdir(join(folder, "project"));
    const args = ["mcp", "--data", join(folder, "data"), "--approvals", "unless-trusted"];
    client = create();
    client.setRequestHandler(elicitation, async ({ params }) => {
      asked.push(params);
      return decision === "cancel" ? { action: "cancel" } : { action: "accept", content: { decision } };
    });
    await client.connect(new Transport({ command: binary, args, cwd: join(folder, "project"), stderr: "inherit" }));
  });

  after(async () => {
    await client.close();
    await promisify(execFile)(binary, ["stop", "--end-sessions", "--yes", "--data", join(folder, "data")]);
    await rm(folder, { recursive: true, force: true });
  });

  const run = async (args, say) => {
    [decision, asked] = [say, []];
    return client.callTool({ name: "exec_command", arguments: args });
  };
  const exists = (name) => access(join(folder, "project", name)).then(() => true, () => false);

  test("the person is asked with the whole command, and only a yes runs it", async () => {
    const plain = await run({ cmd: "ls" }, "refuse");
    assert.deepEqual([plain.isError ?? false, asked.length], [false, 0]);
    for (const no of ["refuse", "cancel"]) {
      const refused = await run({ cmd: "touch made" }, no);
      assert.equal(refused.isError, true);
      assert.match(refused.content[0].text, /the person refused it/);
      assert.match(asked[0].message, /^Run this command in .*\n\n    touch made\n/);
      assert.equal(await exists("made"), false);
    }
    const allowed = await run({ cmd: "touch made && echo done" }, "allow_once");
    assert.equal(allowed.structuredContent.exit_code, 0);
    assert.deepEqual([asked.length, await exists("made")], [1, true]);
  });

  test("a form asks for a decision and for nothing else", async () => {
    await run({ cmd: "echo $PASSWORD > token", justification: "enter your password here" }, "refuse");
    const { properties, required } = asked[0].requestedSchema;
    assert.deepEqual([Object.keys(properties), required], [["decision"], ["decision"]]);
    assert.ok(properties.decision.enum.length > 0, "only given answers can be chosen");
  });

  test("a command that is always allowed is not asked for again", async () => {
    await run({ cmd: "mkdir a", prefix_rule: ["mkdir"] }, "allow_always");
    assert.equal(asked.length, 1);
    await run({ cmd: "mkdir b" }, "refuse");
    assert.deepEqual([asked.length, await exists("b")], [0, true]);
  });
});
