// The terminal of a session, as IDE front ends and people with `wscat` open it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import WebSocket from "ws";

import { startServer } from "./server.mjs";

let server;
before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

const wscat = fileURLToPath(new URL("./node_modules/.bin/wscat", import.meta.url));
const terminal = (session, token) => `ws://${server.address}/v1/sessions/${session}/terminal?token=${token}`;

/** What a program prints, and waiting for a part of it. */
function printed(stream) {
  const waiting = [];
  let text = "";
  stream.on("data", (bytes) => {
    text += bytes;
    for (const one of waiting.splice(0)) (one.matches(text) ? one.done(text) : waiting.push(one));
  });
  return (matches) => new Promise((done, failed) => {
    if (matches(text)) return done(text);
    const deadline = setTimeout(() => failed(new Error(`not in time: ${text}`)), 60_000);
    waiting.push({ matches, done: (all) => { clearTimeout(deadline); done(all); } });
  });
}

test("wscat connects, sends a command and receives its output", async () => {
  await server.post("/v1/sessions", { name: "session-1" });
  const program = spawn(process.execPath, [wscat, "--no-color", "-c", terminal("session-1", server.token)], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const shows = printed(program.stdout);
    await shows((text) => text.includes("\"type\":\"output\"") || text.includes("Connected"));
    program.stdin.write("{\"type\":\"command\",\"command\":\"ls -la\"}\n");
    // The listing may come in several messages; it has the folder above.
    const text = await shows((all) => /"type":"output".*total \d+/.test(all) && all.includes(" .."));
    assert.match(text, /total \d+/);
  } finally {
    program.kill("SIGKILL");
  }
});

test("a front end with a ticket runs a command and is told of the prompt and the end", async () => {
  const session = await server.post("/v1/sessions", {});
  const { ticket } = await server.post("/v1/tickets", {});
  const socket = new WebSocket(terminal(session.id, ticket));
  const messages = [];
  const heard = (matches) => new Promise((done, failed) => {
    const deadline = setTimeout(() => failed(new Error(`not in time: ${JSON.stringify(messages)}`)), 60_000);
    const look = () => matches() && (clearTimeout(deadline), socket.off("message", look), done());
    socket.on("message", look);
    look();
  });
  socket.on("message", (data) => messages.push(JSON.parse(data)));
  const shown = () => messages.filter((message) => message.type === "output").map((message) => message.content).join("");
  await heard(() => messages.some((message) => message.type === "prompt"));
  socket.send(JSON.stringify({ type: "resize", rows: 33, cols: 99 }));
  socket.send(JSON.stringify({ type: "command", command: "stty size; echo $((6 * 7))x" }));
  await heard(() => /33 99\r\n42x/.test(shown()));
  socket.send(JSON.stringify({ type: "command", command: "exit 4" }));
  await heard(() => messages.some((message) => message.type === "exit" && message.code === 4));
});
