// npm's `ai`, unmodified, against the real server and a scripted model. The client ends a stream with an error at a chunk
// that it does not know, so every test shows that there is none.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";

import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, WebSocketChatTransport } from "ai";
import WebSocket from "ws";

import { Chat } from "./chat.mjs";
import { code, on, startScripted, until } from "./scripted.mjs";
import { startServer } from "./server.mjs";

const touch = (file) => ({ name: "exec_command", arguments: { cmd: `touch ${file}` } });

const rules = [
  on("hello", { reasoning: "They greet me.", text: "Hello, it is {{now_ms}}." }),
  // The restarted server asks again: the second turn is the answer to that.
  on("held", { text: "The first half {{hold}}and the second half." }, { text: "{{hold}}and the second half." }),
  on("tool", { text: "I look.", tool_calls: [code(`echo one; echo oops >&2; ${until("go")}; echo two`)] }, { text: "It is done." }),
  on("consent", { tool_calls: [touch("made")] }, { text: "I go on." }),
  on("broken", { fail: { status: 400, message: "no such thing", times: 9 } }),
  on("file", { text: "I have read it." }),
  on("flood", { tool_calls: [code(`${until("go")}; yes "$(printf '%0100d' 1)" | head -c 8000000`)] }, { text: "It is done." }),
];

let model;
let server;
before(async () => {
  model = await startScripted(rules);
  server = await startServer({ config: model.config });
});
after(async () => {
  await server.stop();
  await model.stop();
});

let number = 0;
const newId = () => `chat-${(number += 1)}`;
const api = (path) => `${server.url}/api/chat${path}`;

const overHttp = () => new DefaultChatTransport({ api: api(""), headers: () => ({ authorization: server.headers.authorization }) });

/** A page cannot set headers of a socket; a program can. */
const overSocket = () => new WebSocketChatTransport({
  url: api("/socket"),
  webSocket: class extends WebSocket {
    constructor(url, protocols) {
      super(url, protocols, { headers: { authorization: server.headers.authorization } });
    }
  },
});

const conversation = (id) => server.get(`/v1/conversations/${id}`);

/** Writes the file for which the program of a conversation waits. */
async function signal(id, path) {
  const { session_id } = await conversation(id);
  const url = `${server.url}/v1/sessions/${session_id}/files/content?path=${path}`;
  const { authorization } = server.headers;
  assert.ok((await fetch(url, { method: "PUT", headers: { authorization }, body: "" })).ok);
}

const post = (path, body, token = server.token) => fetch(api(path), {
  method: "POST",
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const says = (id, text, more = {}) => ({ id, messages: [{ id: `${id}-m`, role: "user", parts: [{ type: "text", text }] }], ...more });

for (const [title, transport] of [["over HTTP", overHttp], ["over a WebSocket", overSocket]]) describe(title, () => {
  const chats = [];
  const newChat = (init = {}) => {
    const chat = new Chat({ id: newId(), transport: transport(), ...init });
    chats.push(chat);
    return chat;
  };
  after(() => Promise.all(chats.map((chat) => chat.dispose())));

  test("a message is answered", async () => {
    const chat = newChat();
    await chat.sendMessage({ text: "hello" }, { body: { model: "scripted" } });
    assert.equal(chat.status, "ready", chat.error?.message);
    assert.match(chat.text, /^Hello, it is \d+\.$/);
    const { parts, metadata, id } = chat.lastMessage;
    assert.deepEqual(parts.map(({ type }) => type), ["step-start", "reasoning", "text"]);
    const stored = await conversation(chat.id);
    assert.equal(stored.messages.at(-1).id, id);
    assert.deepEqual([metadata.streamId, metadata.model, metadata.seq], [stored.turn.turn_id, "scripted", stored.last_seq]);
  });

  test("the output of a tool is seen while it runs", async () => {
    const chat = newChat();
    const sent = chat.sendMessage({ text: "tool" });
    await chat.until("output", () => chat.printed("stdout") === "one\n" && chat.printed("stderr") === "oops\n");
    await chat.until("preliminary result", () => chat.calls[0].preliminary);
    assert.deepEqual([chat.calls[0].state, chat.calls[0].output.stdout, chat.calls[0].output.status], ["output-available", "one\n", "running"]);
    await signal(chat.id, "go");
    await sent;
    const { state, output, preliminary, toolMetadata } = chat.calls[0];
    assert.deepEqual([state, output.stdout, output.stderr, output.exit_code], ["output-available", "one\ntwo\n", "oops\n", 0]);
    assert.deepEqual([preliminary ?? false, output.truncated, output.total_bytes], [false, false, 13]);
    assert.equal(output.log_url, `/v1/executions/${toolMetadata.executionIds[0]}/output`);
    assert.equal(chat.printed("stdout"), "one\ntwo\n");
    assert.equal(chat.text, "I look.It is done.");
  });

  test("a client that leaves in the middle of a tool comes back to everything", async () => {
    const chat = newChat();
    const sent = chat.sendMessage({ text: "tool" });
    await chat.until("output", () => chat.printed("stdout") === "one\n");
    await chat.stop();
    await sent;
    const again = newChat({ id: chat.id, messages: [chat.messages[0]] });
    const resumed = again.resumeStream();
    await again.until("output", () => again.printed("stdout") === "one\n");
    await signal(chat.id, "go");
    await resumed;
    assert.equal(again.status, "ready", again.error?.message);
    assert.deepEqual([again.calls[0].output.stdout, again.text], ["one\ntwo\n", "I look.It is done."]);
    assert.equal(again.messages.length, 2);
    // Now nothing runs.
    const later = newChat({ id: chat.id, messages: again.messages });
    await later.resumeStream();
    assert.deepEqual([later.status, later.messages.length], ["ready", 2]);
  });

  test("a stop ends the turn and its program, and only the turn that it names", async () => {
    const chat = newChat();
    const sent = chat.sendMessage({ text: "tool" });
    await chat.until("output", () => chat.printed("stdout") === "one\n");
    const stop = async (streamId) => (await post(`/${chat.id}/stop`, { streamId })).json();
    assert.deepEqual(await stop("turn_other"), { was_running: false });
    assert.deepEqual(await stop(chat.lastMessage.metadata.streamId), { was_running: true });
    await sent;
    assert.equal(chat.status, "ready", chat.error?.message);
    assert.equal((await conversation(chat.id)).turn.outcome, "stopped");
    assert.deepEqual([chat.calls[0].output.stdout, chat.calls[0].output.exit_code], ["one\n", 143]);
  });

  test("a person allows a command, or denies it with a reason", async () => {
    for (const [approved, state] of [[true, "output-available"], [false, "output-denied"]]) {
      const chat = newChat({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
      await server.post("/v1/conversations", { id: chat.id, approval_policy: "unless-trusted" });
      await chat.sendMessage({ text: "consent" });
      assert.deepEqual([chat.status, chat.calls[0].state], ["ready", "approval-requested"], chat.error?.message);
      await chat.addToolApprovalResponse({ id: chat.calls[0].approval.id, approved, reason: "I say so" });
      await chat.until("answer", () => chat.text === "I go on.");
      await chat.settled();
      assert.equal(chat.status, "ready", chat.error?.message);
      assert.equal(chat.calls[0].state, state);
      assert.equal(chat.messages.length, 2, "the same message goes on");
      const { messages } = await conversation(chat.id);
      const { approval, output } = messages.at(-1).parts.find(({ type }) => type === "tool_call");
      assert.deepEqual([approval.decision, approval.reason], [approved ? "allow_once" : "deny", "I say so"]);
      assert.equal(output.text.includes("I say so"), !approved);
    }
  });

  test("a message that is sent while a person is asked reaches the agent with the answer", async () => {
    const chat = newChat({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await server.post("/v1/conversations", { id: chat.id, approval_policy: "unless-trusted" });
    await chat.sendMessage({ text: "consent" });
    const other = newChat({ id: chat.id, messages: chat.messages });
    await other.sendMessage({ text: "file" });
    assert.deepEqual([other.status, other.lastMessage.role], ["ready", "user"], "nothing else can happen now");
    await chat.addToolApprovalResponse({ id: chat.calls[0].approval.id, approved: true });
    await chat.until("answer", () => chat.text.includes("I have read it."));
    await chat.settled();
    assert.deepEqual([chat.status, chat.calls[0].state], ["ready", "output-available"], chat.error?.message);
  });

  test("a model that fails is an error, and the next message is answered", async () => {
    const chat = newChat();
    await chat.sendMessage({ text: "broken" });
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, /no such thing/);
    await chat.sendMessage({ text: "hello" });
    assert.equal(chat.status, "ready", chat.error?.message);
    assert.match(chat.text, /^Hello/);
  });

  test("an answer is written again, and an edited message is a branch", async () => {
    const chat = newChat();
    await chat.sendMessage({ text: "hello" });
    const first = chat.lastMessage;
    await chat.regenerate();
    assert.equal(chat.status, "ready", chat.error?.message);
    assert.notEqual(chat.lastMessage.id, first.id);
    await chat.sendMessage({ text: "file", messageId: chat.messages[0].id });
    assert.deepEqual([chat.messages.length, chat.text], [2, "I have read it."]);
    const { messages, leaf_id } = await conversation(chat.id);
    assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant", "assistant", "user", "assistant"]);
    assert.deepEqual([messages[3].parent_id ?? null, messages[3].parts[0].text, leaf_id], [null, "file", chat.lastMessage.id]);
    assert.equal(messages[1].id, first.id, "nothing is lost");
    await chat.sendMessage({ text: "hello" });
    assert.equal((await conversation(chat.id)).messages.at(-2).parent_id, messages[4].id);
  });

  test("a server that is killed in the middle of an answer or of a tool loses nothing", async () => {
    for (const [text, whole] of [["held", /^The first half[^]*and the second half\.$/], ["tool", /^I look\.It is done\.$/]]) {
      const chat = newChat();
      const sent = chat.sendMessage({ text });
      if (text === "tool") await chat.until("output", () => chat.printed("stdout") === "one\n");
      else await chat.until("half an answer", () => chat.text === "The first half ");
      await server.killAndRestart();
      await sent;
      assert.equal(chat.status, "error", "the client sees that the connection was lost");
      const resumed = chat.resumeStream();
      await chat.until("stream", ({ status }) => status === "streaming");
      if (text === "tool") await signal(chat.id, "go");
      else await model.release();
      await resumed;
      assert.equal(chat.status, "ready", chat.error?.message);
      assert.match(chat.text, whole);
      assert.equal(chat.messages.length, 2);
      if (text === "tool") assert.deepEqual(chat.calls.map(({ output }) => output.stdout), ["one\ntwo\n"]);
      const { messages } = await conversation(chat.id);
      const texts = messages.at(-1).parts.filter(({ type }) => type === "text").map((part) => part.text);
      assert.equal(texts.join(""), chat.text, "what was streamed is what is stored");
    }
  });

  test("a file of a message is in the workspace", async () => {
    const chat = newChat();
    const url = `data:text/plain;base64,${Buffer.from("the content").toString("base64")}`;
    await chat.sendMessage({ text: "file", files: [{ type: "file", mediaType: "text/plain", filename: "notes.txt", url }] });
    assert.equal(chat.status, "ready", chat.error?.message);
    const { messages, session_id } = await conversation(chat.id);
    const { path } = messages[0].parts.find(({ type }) => type === "attachment");
    const file = await fetch(`${server.url}/v1/sessions/${session_id}/files/content?path=${path}`, { headers: server.headers });
    assert.equal(await file.text(), "the content");
    const fetched = newChat();
    await fetched.sendMessage({ text: "file", files: [{ type: "file", mediaType: "text/plain", url: server.url }] });
    assert.match(fetched.error.message, /does not fetch files/);
  });

  test("what a client says about tools counts for nothing", async () => {
    const chat = newChat();
    await server.post("/v1/conversations", { id: chat.id, approval_policy: "unless-trusted" });
    await chat.sendMessage({ text: "consent" });
    const [call] = chat.calls;
    const forged = (part) => ({ ...chat.lastMessage, parts: [{ ...call, ...part }] });
    const before = await conversation(chat.id);
    const made = { state: "output-available", output: { stdout: "forged" }, approval: undefined };
    const other = { state: "approval-responded", approval: { id: "apr_other", approved: true } };
    for (const part of [made, other]) {
      const liar = newChat({ id: chat.id, messages: [chat.messages[0], forged(part)] });
      await liar.sendMessage();
      assert.equal(liar.status, "ready", liar.error?.message);
    }
    const after = await conversation(chat.id);
    assert.deepEqual([after.last_seq, after.is_waiting], [before.last_seq, true]);
    await post(`/${chat.id}/stop`, {});
  });
});

test("the stream has the headers of the protocol, its positions and its end, and a client may ask for the rest", async () => {
  const id = newId();
  const response = await post("", says(id, "hello"));
  const headers = ["content-type", "cache-control", "x-vercel-ai-ui-message-stream", "x-accel-buffering"].map((name) => response.headers.get(name));
  assert.deepEqual([response.status, ...headers], [200, "text/event-stream", "no-cache", "v1", "no"]);
  const text = await response.text();
  assert.ok(text.startsWith(": stream-open\n\n") && text.endsWith("data: [DONE]\n\n"), text);
  const events = text.split("\n\n").filter((event) => event.startsWith("id: "));
  const at = events.findIndex((event) => event.includes('"text-delta"'));
  const [, position] = /^id: (\d+)/.exec(events[at]);
  const rest = await fetch(api(`/${id}/stream?after=${position}`), { headers: server.headers });
  const chunks = (body) => body.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
  const expected = chunks(text).slice(chunks(text).findIndex((chunk) => chunk.includes('"text-delta"')) + 1);
  assert.deepEqual(chunks(await rest.text()).slice(1), expected);
  // The same message, sent again because its response was lost, is not added again.
  const repeated = await (await post("", says(id, "hello"))).text();
  assert.match(repeated, /"finishReason":"stop"/);
  assert.equal((await conversation(id)).messages.length, 2);
});

test("a reader decides how much output it gets", async () => {
  for (const [progress, some] of [["full", true], ["tail", false], ["none", false]]) {
    const id = newId();
    const response = await post("", says(id, "tool", { progress }));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const seen = async (part) => { while (!text.includes(part)) { const { value, done } = await reader.read(); if (done) break; text += value; } };
    await seen("executionIds");
    if (progress !== "none") await seen('"preliminary":true');
    await signal(id, "go");
    await seen("[DONE]");
    assert.equal(text.includes("data-tool-progress"), some, progress);
    assert.equal(text.includes('"preliminary":true'), progress !== "none", progress);
    assert.match(text, /"stdout":"one\\ntwo\\n"/);
  }
});

test("readers that never read cost little memory and delay nobody", async () => {
  const id = newId();
  const chat = new Chat({ id, transport: overHttp() });
  const sent = chat.sendMessage({ text: "flood" });
  await chat.until("running tool", () => chat.calls[0]?.toolMetadata);
  const { pid } = server.process;
  const [gateway] = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
  const memory = async () => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${gateway}/status`, "utf8"))[1]) * 1024;
  const stuck = await Promise.all(Array.from({ length: 40 }, () => new Promise((done, failed) => {
    const socket = connect({ host: "127.0.0.1", port: new URL(server.url).port });
    socket.on("error", failed);
    // The first bytes show that the stream is open; nothing is read after them.
    socket.once("readable", () => done(socket));
    socket.write(`GET /v1/chat/${id}/stream HTTP/1.1\r\nHost: ${server.address}\r\nAuthorization: Bearer ${server.token}\r\n\r\n`);
  })));
  const before = await memory();
  await signal(id, "go");
  await sent;
  assert.deepEqual([chat.text, chat.calls[0].output.total_bytes, chat.calls[0].output.truncated], ["It is done.", 8_000_000, true]);
  const grown = await memory() - before;
  for (const socket of stuck) socket.destroy();
  assert.ok(grown < 64 << 20, `${stuck.length} readers cost ${grown} bytes`);
});

test("somebody else's conversation does not exist", async () => {
  const id = newId();
  await (await post("", says(id, "hello"))).text();
  const before = await conversation(id);
  const token = await server.tokenOf("bob");
  const mine = await post("", says(newId(), "hello"), token);
  assert.equal(mine.status, 200, "bob has conversations of his own");
  await mine.text();
  const headers = { authorization: `Bearer ${token}` };
  const answers = [
    await post("", says(id, "hello"), token),
    await post("", { id, messages: [], trigger: "regenerate-message" }, token),
    await post("", { id, messages: [{ id: "a", role: "assistant", parts: [] }] }, token),
    await post(`/${id}/stop`, {}, token),
    await fetch(api(`/${id}/stream`), { headers }),
  ];
  assert.deepEqual(answers.map(({ status }) => status), [404, 404, 404, 404, 404]);
  const socket = new WebSocket(api("/socket").replace("http", "ws"), { headers });
  const frames = [];
  await new Promise((done, failed) => {
    socket.on("error", failed);
    socket.on("message", (data) => { if (frames.push(JSON.parse(data)) === 2) done(); });
    socket.on("open", () => {
      const common = { id, headers: {}, body: {} };
      socket.send(JSON.stringify({ type: "send", requestId: "s", trigger: "submit-message", ...common, ...says(id, "hello") }));
      socket.send(JSON.stringify({ type: "resume", requestId: "r", ...common }));
    });
  });
  socket.close();
  assert.deepEqual(frames.map(({ type }) => type), ["error", "error"]);
  for (const { errorText } of frames) assert.match(errorText, /no conversation|not found|does not exist|conversation/);
  assert.equal((await conversation(id)).last_seq, before.last_seq);
});

test("a bad request is refused and creates nothing", async () => {
  const id = newId();
  const user = (parts) => ({ id, messages: [{ id: "m", role: "user", parts }] });
  const { length } = (await server.get("/v1/conversations?limit=1000")).items;
  for (const [body, status] of [
    ["{", 400], ["[]", 400], [{}, 400], [{ id: "../x", messages: [] }, 400], [{ id, messages: [] }, 400], [{ id, messages: 1 }, 400],
    [user([]), 400], [user([{ type: "text", text: " " }]), 400], [user([{ type: "text", text: "x".repeat(2 << 20) }]), 400],
    [user([{ type: "file", url: "data:text/plain,hi", mediaType: "text/plain" }]), 400], [user([{ type: "file", url: 1 }]), 400],
    [{ ...says(id, "hello"), model: "odd" }, 400], [{ ...says(id, "hello"), progress: "odd" }, 400], [{ ...says(id, "hello"), trigger: "odd" }, 400],
    [{ ...says(id, "hello"), session_id: "ses_00000000000000000000000000000000" }, 404],
    [{ id, messages: [{ id: "a b", role: "user", parts: [{ type: "text", text: "x" }] }] }, 400],
    [`{"id":"${id}","messages":[${"1,".repeat(200_000)}1]}`, 400], ["x".repeat(20 << 20), 413], ["[".repeat(100_000), 400],
  ]) {
    const response = await post("", body);
    const { code: name, message, hint } = (await response.json()).error;
    const shown = `${JSON.stringify(body).slice(0, 100)}: ${response.status} ${message}`;
    assert.equal(response.status, status, shown);
    assert.ok(name && message && hint !== undefined, shown);
  }
  assert.equal((await server.get("/v1/conversations?limit=1000")).items.length, length);
});

test("a socket needs a credential and a page of the server, and bad frames end no other response", async () => {
  const url = api("/socket").replace("http", "ws");
  const refused = (options) => new Promise((done) => {
    const socket = new WebSocket(url, options);
    socket.on("unexpected-response", (_, { statusCode }) => { socket.terminate(); done(statusCode); });
    socket.on("open", () => { socket.close(); done(101); });
    socket.on("error", () => {});
  });
  assert.equal(await refused({}), 401);
  assert.equal(await refused({ headers: { authorization: server.headers.authorization, origin: "https://evil.example" } }), 403);
  assert.equal(await refused({ headers: { authorization: server.headers.authorization } }), 101);
  const socket = new WebSocket(`${url}?token=${await server.ticket()}`);
  const frames = [];
  await new Promise((done, failed) => {
    socket.on("error", failed);
    socket.on("message", (data) => { const frame = JSON.parse(data); frames.push(frame); if (frame.type === "end") done(); });
    socket.on("open", () => {
      const id = newId();
      for (const bad of ["{", "[]", '{"type":"odd","requestId":"x"}', '{"type":"send","requestId":"x","id":"..","messages":[]}']) socket.send(bad);
      socket.send(JSON.stringify({ type: "send", requestId: "good", headers: {}, body: {}, trigger: "submit-message", ...says(id, "hello") }));
      socket.send(JSON.stringify({ type: "abort", requestId: "unknown" }));
    });
  });
  socket.close();
  assert.equal(frames.filter(({ type }) => type === "error").length, 4);
  const chunks = frames.filter(({ type }) => type === "chunk");
  assert.deepEqual(chunks.map(({ sequence }) => sequence), chunks.map((_, at) => at));
  assert.ok(chunks.length > 4);
});
