// The official TypeScript SDKs of the Model Context Protocol drive the tools over stdio and over HTTP: version 1 with
// the handshake of 2025, version 2 without one.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { startServer } from "./server.mjs";

const binary = process.env.HEADWATER_BIN
  ?? fileURLToPath(new URL("../../target/x86_64-unknown-linux-gnu/debug/headwater", import.meta.url));

const info = { name: "sdk-test", version: "1" };
const version1 = [() => new Client1(info, { capabilities: {} }),
  (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options)];
const version2 = [() => new Client2(info, { capabilities: {}, versionNegotiation: { mode: { pin: "2026-07-28" } } }),
  (client, name, args, options) => client.callTool({ name, arguments: args }, options)];

/** `headwater mcp` in a folder of its own. */
async function overStdio(Transport) {
  const folder = await mkdtemp(join(tmpdir(), "hw-mcp-"));
  // A session may not contain the data folder.
  const project = join(folder, "project");
  await mkdir(project);
  const args = ["mcp", "--data", join(folder, "data")];
  const transport = new Transport({ command: binary, args, cwd: project, stderr: "inherit" });
  const stop = async () => {
    await promisify(execFile)(binary, ["stop", "--end-sessions", "--yes", "--data", join(folder, "data")]);
    await rm(folder, { recursive: true, force: true });
  };
  return { transport, stop };
}

/** `/mcp` of a server. */
async function overHttp(Transport) {
  const server = await startServer();
  const headers = { authorization: `Bearer ${server.token}` };
  const transport = new Transport(new URL("/mcp", server.url), { requestInit: { headers } });
  return { transport, stop: () => server.stop() };
}

const sdks = [
  ["version 1 of the SDK, over stdio", () => overStdio(Transport1), ...version1],
  ["version 2 of the SDK, without a handshake, over stdio", () => overStdio(Transport2), ...version2],
  ["version 1 of the SDK, over HTTP", () => overHttp(Http1), ...version1],
  ["version 2 of the SDK, without a handshake, over HTTP", () => overHttp(Http2), ...version2],
];

for (const [title, start, create, callTool] of sdks) describe(title, () => {
  let client;
  let stop;

  before(async () => {
    const started = await start();
    stop = started.stop;
    client = create();
    await client.connect(started.transport);
  });

  after(async () => {
    await client.close();
    await stop();
  });

  const call = async (name, args, options) => {
    const result = await callTool(client, name, args, options);
    assert.notEqual(result.isError, true, JSON.stringify(result));
    return result;
  };
  const textOf = (result) => result.content[0].text;

  test("the SDK knows the server and checks the schemas of its tools", async () => {
    assert.equal(client.getServerVersion().name, "headwater");
    assert.match(client.getInstructions(), /wait/);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name, outputSchema }) => name === "exec_command" && outputSchema));
    // The SDK validates structured content against the schema.
    const result = await call("exec_command", { cmd: "echo from-the-sdk" });
    assert.match(textOf(result), /from-the-sdk/);
    assert.equal(result.structuredContent.exit_code, 0);
    assert.equal(result.structuredContent.output, textOf(result));
  });

  test("the SDK runs, feeds, waits for and reads a command", async () => {
    const started = await call("exec_command", { cmd: "read line; echo got $line", yield_time_ms: 250 });
    const session_id = started.structuredContent.session_id;
    assert.ok(Number.isInteger(session_id));
    const waited = call("wait", { session_ids: [session_id] });
    await call("write_stdin", { session_id, chars: "input\n" });
    assert.match(textOf(await waited), /exited with code 0/);
    assert.match(textOf(await call("read_output", { session_id })), /got input/);
    assert.match(textOf(await call("list_executions", {})), /read line/);
  });

  test("the SDK gets progress, and a cancelled call leaves the connection usable", async () => {
    const seen = [];
    await call("shell_command", { command: "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done", timeout_ms: 100_000 },
      { onprogress: (progress) => seen.push(progress) });
    assert.ok(seen.length > 0 && seen.every((now, at) => at === 0 || now.progress > seen[at - 1].progress), JSON.stringify(seen));
    const stop = new AbortController();
    const sleeping = call("exec_command", { cmd: "sleep 1000", yield_time_ms: 30_000, on_disconnect: "kill" }, { signal: stop.signal });
    stop.abort("enough");
    await assert.rejects(sleeping);
    assert.match(textOf(await call("exec_command", { cmd: "echo usable" })), /usable/);
  });

  test("the SDK reads resources and prompts", async () => {
    await call("exec_command", { cmd: "echo resource; echo content > file.txt" });
    const { resources } = await client.listResources();
    const output = resources.find(({ uri }) => uri.startsWith("exec://"));
    assert.match((await client.readResource({ uri: output.uri })).contents[0].text, /resource/);
    const file = resources.find(({ name }) => name === "file.txt");
    assert.equal((await client.readResource({ uri: file.uri })).contents[0].text, "content\n");
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
    const { messages } = await client.getPrompt({ name: "fix_tests", arguments: { command: "make test" } });
    assert.match(messages[0].content.text, /`make test`/);
  });

  test("an error of a tool is a result, and an unknown resource an error", async () => {
    const result = await client.callTool({ name: "exec_command", arguments: { cmd: "" } });
    assert.equal(result.isError, true);
    assert.match(textOf(result), /cmd: must not be empty/);
    await assert.rejects(client.readResource({ uri: "file:///etc/passwd" }));
  });
});
