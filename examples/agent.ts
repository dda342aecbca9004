#!/usr/bin/env -S npx tsx
// An agent: a model with an OpenAI-compatible API, and the tools of a Headwater server. Node 22.18 and later run it
// as it is; before that, use `npx tsx` in place of `node`.
//
//   MODEL_URL=https://api.openai.com/v1 MODEL=... MODEL_KEY=... \
//   HEADWATER_URL=http://127.0.0.1:8080 HEADWATER_TOKEN=... node examples/agent.ts 'Write a haiku to haiku.txt'
import { randomUUID } from "node:crypto";

type ToolCall = { id: string; function: { name: string; arguments: string } };
type Message = { role: string; content: string | null; tool_calls?: ToolCall[]; tool_call_id?: string };
type Completion = { choices: { message: Message }[] };
type ToolResult = { content: string; error?: undefined } | { error: { message: string; hint: string } };

const { MODEL_URL = "", MODEL = "default", MODEL_KEY = "", HEADWATER_TOKEN = "" } = process.env;
const SERVER = process.env.HEADWATER_URL ?? "http://127.0.0.1:8080";
// All calls of a conversation work in one session, which the first call creates.
const CONVERSATION = process.env.CONVERSATION || randomUUID();

async function request<T>(url: string, key: string, body?: string): Promise<T> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const response = await fetch(url, { method: body === undefined ? "GET" : "POST", headers, body });
  return (await response.json()) as T;
}

async function callTool(call: ToolCall): Promise<string> {
  const query = new URLSearchParams({ conversation_id: CONVERSATION, tool_call_id: call.id });
  const url = `${SERVER}/v1/tools/${encodeURIComponent(call.function.name)}?${query}`;
  const result = await request<ToolResult>(url, HEADWATER_TOKEN, call.function.arguments);
  // An error is an unknown tool, or arguments that are not JSON: the model can fix it.
  return result.error ? `${result.error.message}. ${result.error.hint}` : result.content;
}

async function main(task: string): Promise<void> {
  const { tools } = await request<{ tools: object[] }>(`${SERVER}/v1/tools?format=openai_chat`, HEADWATER_TOKEN);
  const messages: Message[] = [{ role: "user", content: task }];
  for (;;) {
    const body = JSON.stringify({ model: MODEL, messages, tools });
    const answer = await request<Completion>(`${MODEL_URL}/chat/completions`, MODEL_KEY, body);
    if (!answer.choices?.[0]) throw new Error(JSON.stringify(answer));
    const reply = answer.choices[0].message;
    messages.push(reply);
    if (!reply.tool_calls?.length) {
      console.log(reply.content);
      return;
    }
    for (const call of reply.tool_calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: await callTool(call) });
    }
  }
}

void main(process.argv[2] ?? "");
