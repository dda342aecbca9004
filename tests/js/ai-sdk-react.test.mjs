// A page with `useChat` of npm's `@ai-sdk/react`, in Chromium, against the real server and a scripted model.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import { chromium } from "playwright-core";

import { code, on, startScripted, until } from "./scripted.mjs";
import { startServer } from "./server.mjs";

const rules = [
  on("tool", { text: "I look.", tool_calls: [code(`echo one; ${until("go")}; echo two`)] }, { text: "It is done." }),
  on("consent", { tool_calls: [{ name: "exec_command", arguments: { cmd: "touch made && echo made" } }] }, { text: "I go on." }),
  on("broken", { fail: { status: 400, message: "no such thing", times: 9 } }),
];

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

let model;
let server;
let front;
let browser;
before(async () => {
  model = await startScripted(rules);
  server = await startServer({ config: model.config });
  const entry = fileURLToPath(new URL("page/chat.jsx", import.meta.url));
  const options = { bundle: true, write: false, jsx: "automatic", format: "esm", define: { "process.env.NODE_ENV": '"production"' } };
  const { outputFiles: [script] } = await build({ entryPoints: [entry], ...options });
  front = createServer((request, response) => {
    const isScript = request.url === "/chat.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script.text : '<!doctype html><title>Chat</title><link rel="icon" href="data:,"><div id="app"></div><script type="module" src="/chat.js"></script>');
  }).listen(0, "127.0.0.1");
  await once(front, "listening");
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
});
after(async () => {
  await browser?.close();
  front?.close();
  await server?.stop();
  await model?.stop();
});

/** A page with this chat, and the errors of the page. */
async function open(id, more = "") {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  const query = new URLSearchParams({ id, server: server.url, token: server.token });
  await page.goto(`http://127.0.0.1:${front.address().port}/?${query}${more}`);
  const send = async (text) => {
    await page.getByLabel("Message").fill(text);
    await page.getByLabel("Message").press("Enter");
  };
  return { page, errors, send };
}

async function signal(id, path) {
  const { session_id } = await server.get(`/v1/conversations/${id}`);
  const url = `${server.url}/v1/sessions/${session_id}/files/content?path=${path}`;
  const { authorization } = server.headers;
  assert.ok((await fetch(url, { method: "PUT", headers: { authorization }, body: "" })).ok);
}

const has = (page, selector, text) => page.locator(selector).filter({ hasText: text }).first().waitFor();

test("useChat shows a tool while it runs, and after a reload everything once", async () => {
  const { page, errors, send } = await open("react-1");
  await send("tool");
  await has(page, "[data-tool=code_execution] pre", /^one\n$/);
  const again = await open("react-1", "&resume");
  await has(again.page, "[data-tool=code_execution] pre", /^one\n$/);
  await page.close();
  await signal("react-1", "go");
  await has(again.page, "[data-tool=code_execution][data-state=output-available] b", "exit 0");
  await again.page.locator("main[data-status=ready]").waitFor();
  assert.deepEqual(await again.page.locator("article.assistant p").allInnerTexts(), ["I look.", "It is done."]);
  assert.equal(await again.page.locator("[data-tool=code_execution] pre").innerText(), "one\ntwo\n");
  assert.deepEqual([errors, again.errors], [[], []]);
  await again.page.close();
});

test("useChat asks its person, and shows an error of the model", async () => {
  await server.post("/v1/conversations", { id: "react-2", approval_policy: "unless-trusted" });
  const { page, errors, send } = await open("react-2");
  await send("consent");
  await page.getByRole("button", { name: "Allow" }).click();
  await has(page, "[data-tool=exec_command][data-state=output-available] pre", "made");
  await has(page, "article.assistant p", "I go on.");
  await page.locator("main[data-status=ready]").waitFor();
  await send("broken");
  await has(page, "[role=alert]", "no such thing");
  assert.deepEqual(errors, []);
  await page.close();
});
