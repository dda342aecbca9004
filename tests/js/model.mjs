// A model with an OpenAI-compatible API that follows a script, one message for each request.

import { once } from "node:events";
import { createServer } from "node:http";

/** Calls of tools, as a model writes them: `[id, name, arguments]`. */
export const calls = (...all) => ({
  role: "assistant",
  content: null,
  tool_calls: all.map(([id, name, args]) => ({ id, type: "function", function: { name, arguments: args } })),
});

/** The last message of a conversation. */
export const says = (content) => ({ role: "assistant", content });

/** Serves a script. The turn is the number of messages that the model has written, so several conversations can follow it. */
export async function startModel(script) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks));
    requests.push(body);
    const turn = body.messages.filter(({ role }) => role === "assistant").length;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: script[turn] }] }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { requests, url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => server.close() };
}
