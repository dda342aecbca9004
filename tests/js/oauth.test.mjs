// A client that is given only the address of the server signs in through the browser: the official SDK finds the
// authorization server, registers, sends the person to the consent page, and calls a tool with the token that it gets.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { startServer } from "./server.mjs";

let server;

before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

/** What a client keeps between the steps. */
class Provider {
  redirectUrl = "http://127.0.0.1:7777/callback";
  clientMetadata = { client_name: "sdk-oauth", redirect_uris: [this.redirectUrl], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  redirectToAuthorization(url) { this.page = url; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
}

test("the SDK signs in through the browser and calls a tool", async () => {
  const authProvider = new Provider();
  const address = new URL("/mcp", server.url);
  const connect = async () => {
    const transport = new StreamableHTTPClientTransport(address, { authProvider });
    const client = new Client({ name: "sdk-oauth", version: "1" }, { capabilities: {} });
    return { transport, client };
  };
  const first = await connect();
  await assert.rejects(first.client.connect(first.transport), UnauthorizedError);
  assert.equal(authProvider.page.origin, server.url);
  assert.equal((await fetch(authProvider.page)).status, 200);
  // The person, who is signed in, allows it: what the script of the page sends.
  const { redirect_to } = await server.post("/oauth/consent", { query: authProvider.page.search, allow: true });
  const code = new URL(redirect_to).searchParams.get("code");
  await first.transport.finishAuth(code);
  assert.match(authProvider.saved.access_token, /^hw_/);

  const { transport, client } = await connect();
  await client.connect(transport);
  const result = await client.callTool({ name: "exec_command", arguments: { cmd: "echo signed-in" } });
  assert.match(result.content[0].text, /signed-in/);
  // What the person allowed can be revoked like every token.
  const { items } = await server.get("/v1/tokens");
  const token = items.find(({ name }) => name.includes("sdk-oauth"));
  await fetch(`${server.url}/v1/tokens/${token.id}`, { method: "DELETE", headers: server.headers });
  authProvider.saved = { ...authProvider.saved, refresh_token: undefined };
  await assert.rejects(client.callTool({ name: "exec_command", arguments: { cmd: "true" } }));
  await client.close().catch(() => {});
});
