// Ordinary clients follow an execution: npm's `eventsource` (the browser's EventSource) and `ws`.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { EventSource } from "eventsource";
import WebSocket from "ws";

import { startServer } from "./server.mjs";

let server;
before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

const types = ["started", "stdout", "stderr", "output", "gap", "exited", "closed"];
const bytesOf = (event) => (event.text !== undefined ? Buffer.from(event.text) : Buffer.from(event.base64, "base64"));

const withToken = (input, init) =>
  fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${server.token}` } });

/**
 * Follows with an EventSource until `closed`; `onEvent` may do things in the middle. With `{}` as options the address is
 * all that lets it in, as in a browser of another site.
 */
function follow(url, onEvent = () => {}, options = { fetch: withToken }) {
  const events = [];
  return new Promise((done, failed) => {
    const source = new EventSource(url, options);
    source.addEventListener("error", ({ code }) => {
      if (code !== undefined) { clearTimeout(deadline); source.close(); failed(new Error(`the stream answered ${code}`)); }
    });
    const deadline = setTimeout(() => { source.close(); failed(new Error(`no end in time: ${JSON.stringify(events.slice(-3))}`)); }, 100_000);
    for (const type of types) {
      source.addEventListener(type, (message) => {
        const event = JSON.parse(message.data);
        assert.equal(message.lastEventId, String(event.seq));
        events.push({ type, ...event });
        onEvent(event, source);
        if (type === "closed") {
          clearTimeout(deadline);
          source.close();
          done(events);
        }
      });
    }
  });
}

const lines = (from, to) => Array.from({ length: to - from }, (_, n) => `line ${n + from}\n`).join("");
const text = (events, stream) => Buffer.concat(events.filter((e) => e.type === stream).map(bytesOf)).toString();

test("an EventSource sees every byte, in order, and the verdict once", async () => {
  const started = await server.post("/v1/executions", { shell: "for i in $(seq 0 499); do echo line $i; done; echo oops >&2; exit 3" });
  const events = await follow(`${server.url}/v1/executions/${started.id}/events?until=closed`);
  assert.equal(text(events, "stdout"), lines(0, 500));
  assert.equal(text(events, "stderr"), "oops\n");
  const exited = events.filter((event) => event.type === "exited");
  assert.deepEqual([exited.length, exited[0].reason, exited[0].code], [1, "exited", 3]);
  assert.ok(events.every((event, n) => n === 0 || event.seq > events[n - 1].seq));
});

test("an EventSource goes on by itself after the gateway was killed, and misses nothing", async () => {
  const session = await server.post("/v1/sessions", { name: "js" });
  // It prints a half, waits for a word, and prints the rest: the kill always falls in the middle.
  const shell = "for i in $(seq 0 299); do echo line $i; done; read word; for i in $(seq 300 599); do echo line $i; done";
  const started = await server.post(`/v1/sessions/${session.id}/executions`, { shell, stdin: "open" });
  let killed;
  const events = await follow(`${server.url}/v1/executions/${started.id}/events`, (event) => {
    if (!killed && event.text?.includes("line 299")) {
      killed = server.killAndRestart().then(() =>
        fetch(`${server.url}/v1/executions/${started.id}/stdin?eof=true`, { method: "POST", headers: { authorization: server.headers.authorization }, body: "go\n" }));
    }
  });
  assert.equal((await killed).status, 204);
  assert.equal(text(events, "stdout"), lines(0, 600));
  assert.equal(events.filter((event) => event.type === "exited").length, 1);
});

test("an EventSource with a ticket goes on by itself after the gateway was killed, again and again", async () => {
  const session = await server.post("/v1/sessions", { name: "ticket" });
  const shell = "read word; echo line 0; read word; for i in $(seq 1 99); do echo line $i; done; read word; echo line 100";
  const started = await server.post(`/v1/sessions/${session.id}/executions`, { shell, stdin: "open" });
  const type = () => fetch(`${server.url}/v1/executions/${started.id}/stdin`, { method: "POST", headers: { authorization: server.headers.authorization }, body: "go\n" });
  let step = Promise.resolve();
  const killAndGoOn = () => { step = step.then(() => server.killAndRestart()).then(type); };
  const url = `${server.url}/v1/executions/${started.id}/events?token=${await server.ticket()}`;
  const events = await follow(url, (event) => {
    // The first kill comes before any output, the others in the middle.
    if (event.seq === 1 || event.text?.includes("line 0\n") || event.text?.includes("line 99\n")) killAndGoOn();
  }, {});
  await step;
  assert.equal(text(events, "stdout"), lines(0, 101));
  assert.equal(events.filter((event) => event.type === "exited").length, 1);
  await assert.rejects(follow(url, () => {}, {}), /401/, "the ticket opened the stream a second time");
});

test("an EventSource with a ticket that has seen no event yet goes on after the gateway was killed", async () => {
  const url = `${server.url}/v1/conversations/quiet/events?token=${await server.ticket()}`;
  const seen = [];
  const source = new EventSource(url);
  try {
    await new Promise((done, failed) => { source.onopen = done; source.onerror = ({ code }) => failed(new Error(`${code}`)); });
    source.onerror = null;
    for (const type of types) source.addEventListener(type, (message) => seen.push(JSON.parse(message.data)));
    const opened = new Promise((done, failed) => {
      source.onopen = done;
      source.onerror = ({ code }) => code !== undefined && failed(new Error(`it answered ${code}`));
    });
    await server.killAndRestart();
    await opened;
    await server.post("/v1/executions", { shell: "echo hello", metadata: { conversation_id: "quiet" } });
    for (let tries = 0; tries < 1000 && !seen.some((event) => event.type === "closed"); tries++) await new Promise((done) => setTimeout(done, 50));
    assert.ok(seen.some((event) => event.text === "hello\n"), JSON.stringify(seen));
  } finally {
    source.close();
  }
});

test("a plain WebSocket client types, sees the answer as bytes, and is told of the end", async () => {
  const started = await server.post("/v1/executions", { argv: ["cat"], stdin: "open" });
  const socket = new WebSocket(`ws://${server.address}/v1/executions/${started.id}/attach?token=${await server.ticket()}`);
  const [seen, events] = [[], []];
  const closed = new Promise((done, failed) => { socket.once("close", done); socket.once("error", failed); });
  socket.once("open", () => {
    socket.send(Buffer.concat([Buffer.from([0x10]), Buffer.from([0xff, 0x00, 0x41])]));
    socket.send(Buffer.from([0x11]));
  });
  socket.on("message", (frame, isBinary) => {
    assert.ok(isBinary);
    if (frame[0] === 0x01) seen.push(frame.subarray(10));
    else events.push(JSON.parse(frame.subarray(1).toString()));
  });
  assert.equal(await closed, 1000);
  assert.deepEqual(Buffer.concat(seen), Buffer.from([0xff, 0x00, 0x41]));
  assert.deepEqual(events.map((event) => event.type), ["started", "exited", "closed"]);
  assert.equal(events[1].code, 0);
});
