// The `codex` binary from npm calls every tool through `headwater mcp` and through `/mcp` of a server. The model is a
// local server that follows a script: each step sees the result of the step before.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { startServer } from "./server.mjs";

const binary = process.env.HEADWATER_BIN
  ?? fileURLToPath(new URL("../../target/x86_64-unknown-linux-gnu/debug/headwater", import.meta.url));
const codex = fileURLToPath(new URL("node_modules/.bin/codex", import.meta.url));

// A PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/* Answers like the Responses API. `steps` are functions of the last result; the results are collected. */
async function scriptedModel(steps) {
  const results = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method !== "POST") return response.end('{"models":[]}');
    const { input } = JSON.parse(Buffer.concat(chunks));
    const last = input.at(-1);
    if (last.type === "function_call_output") results.push(last.output);
    const step = steps[results.length];
    const item = step
      ? { type: "function_call", namespace: "mcp__headwater", call_id: `call_${results.length}`, ...step(results.at(-1)) }
      : { type: "message", role: "assistant", id: "m", content: [{ type: "output_text", text: "done" }] };
    const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2 };
    const events = [
      { type: "response.created", response: { id: "r" } },
      { type: "response.output_item.done", item },
      { type: "response.completed", response: { id: "r", usage } },
    ];
    response.setHeader("content-type", "text/event-stream");
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, results, url: `http://127.0.0.1:${server.address().port}/v1` };
}

const call = (name, args) => () => ({ name, arguments: JSON.stringify(args) });

/** `headwater mcp`, which works in the folder that codex is started in. */
async function overStdio({ data }) {
  const config = `command = "${binary}"\nargs = ["mcp", "--data", "${data}"]`;
  // The worker runs already, as it does after the first use: codex asks its model before a slow server has started.
  await promisify(execFile)(binary, ["run", "--data", data, "--", "true"]);
  const stop = () => promisify(execFile)(binary, ["stop", "--end-sessions", "--yes", "--data", data]);
  return { config, stop, env: {} };
}

/** `/mcp` of a server, which works in a session. */
async function overHttp() {
  const server = await startServer();
  const config = `url = "${server.url}/mcp"\nbearer_token_env_var = "HEADWATER_TOKEN"`;
  return { config, stop: () => server.stop(), env: { HEADWATER_TOKEN: server.token } };
}

for (const [title, start] of [["stdio", overStdio], ["HTTP", overHttp]])
test(`codex calls every tool over ${title}`, { timeout: 110_000 }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "hw-codex-"));
  const [project, home, data] = ["project", "home", "data"].map((name) => join(folder, name));
  await mkdir(project);
  await mkdir(home);
  // The session ID of the command that the third step starts.
  let session_id;
  const steps = [
    call("exec_command", { cmd: `echo from-codex; echo ${pixel} | base64 -d > pixel.png` }),
    call("apply_patch", { input: "*** Begin Patch\n*** Add File: src/new.txt\n+one\n+two\n*** End Patch" }),
    call("exec_command", { cmd: "read line; echo got $line; sleep 1000", yield_time_ms: 250, tty: true }),
    (output) => {
      session_id = Number(/"session_id":\s*(\d+)/.exec(output)[1]);
      return call("write_stdin", { session_id, chars: "input\n", yield_time_ms: 2000 })();
    },
    () => call("resize", { session_id, rows: 40, cols: 100 })(),
    () => call("list_executions", {})(),
    () => call("wait", { session_ids: [session_id], until: { idle_ms: 300 }, timeout_ms: 20_000 })(),
    () => call("read_output", { session_id })(),
    () => call("kill", { session_id })(),
    call("shell", { command: ["cat", "src/new.txt"] }),
    call("shell_command", { command: "echo out; echo err >&2; exit 3" }),
    call("run_code", { language: "python", code: "print(6 * 7)" }),
    call("edit_file", { file_path: "src/new.txt", old_string: "two", new_string: "three" }),
    call("write_file", { file_path: "other.txt", content: "needle\n" }),
    call("read_file", { file_path: "src/new.txt" }),
    call("list_dir", { dir_path: "." }),
    call("grep_files", { pattern: "needle" }),
    call("view_image", { path: "pixel.png" }),
  ];
  const expected = [
    /from-codex/, /Success\. Updated the following files:.*A src\/new\.txt/, /Process running with session ID/, /got input/,
    /100/, /read line/, /running with session ID/, /got input/, /./, /one.*two/s, /Exit code: 3.*out.*err/s, /42/, /src\/new\.txt/, /other\.txt/,
    /L2: three/, /pixel\.png/, /other\.txt/, /./,
  ];
  const model = await scriptedModel(steps);
  const { config, stop, env } = await start({ data });
  t.after(async () => {
    model.server.close();
    await stop();
    await rm(folder, { recursive: true, force: true });
  });
  await writeFile(join(home, "config.toml"), `
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "${model.url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[mcp_servers.headwater]
${config}
`);
  const args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json", "go"];
  const child = spawn(codex, args, { cwd: project, env: { ...process.env, ...env, CODEX_HOME: home }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => { said += bytes; });
  const [code] = await once(child, "exit");
  assert.equal(code, 0, said);
  assert.equal(model.results.length, steps.length, said);
  expected.forEach((pattern, at) => {
    const output = typeof model.results[at] === "string" ? model.results[at] : JSON.stringify(model.results[at]);
    assert.match(output, pattern, `step ${at}: ${output}`);
    assert.doesNotMatch(output, /unsupported call|failed to parse/, `step ${at}`);
  });
  if (title === "stdio") assert.equal(await readFile(join(project, "src/new.txt"), "utf8"), "one\nthree\n");
});
