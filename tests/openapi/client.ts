// Runs one execution with openapi-fetch and the types that openapi-typescript generated. Arguments: the server's
// URL and a token.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
const [baseUrl, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

function must<T>(what: string, answer: { data?: T; error?: components["schemas"]["Error"] }): T {
  if (answer.data === undefined) throw new Error(`${what}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const session = must("createSession", await client.POST("/v1/sessions", { body: { name: "typescript" } }));
const id = session.id;
const started = must("startExecutionInSession", await client.POST("/v1/sessions/{id}/executions", {
  params: { path: { id } },
  body: { shell: "echo from typescript; exit 3" },
  headers: { Accept: "application/json" },
}));
if (!("session_id" in started)) throw new Error("the answer is a stream");
const execution: components["schemas"]["Execution"] = must("getExecution", await client.GET("/v1/executions/{id}", {
  params: { path: { id: started.id }, query: { wait: "60s", until: "closed" } },
}));
const output = must("getExecutionOutput", await client.GET("/v1/executions/{id}/output", {
  params: { path: { id: started.id }, query: { stream: "stdout" } },
  parseAs: "text",
}));
const page = must("listExecutions", await client.GET("/v1/executions", { params: { query: { session_id: id } } }));
const found = page.items.map((item) => item.id);
const missing = await client.GET("/v1/executions/{id}", { params: { path: { id: "exe_" + "0".repeat(32) } } });
must("deleteSession", { ...(await client.DELETE("/v1/sessions/{id}", { params: { path: { id } } })), data: true });

const seen = JSON.stringify([execution.state, execution.exit?.reason, execution.exit?.code, output, found, missing.error?.error.code]);
const expected = JSON.stringify(["closed", "exited", 3, "from typescript\n", [started.id], "not_found"]);
if (seen !== expected) throw new Error(`expected ${expected}, got ${seen}`);
console.log("the generated TypeScript client ran an execution");
