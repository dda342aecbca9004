// A scripted model for a test (crates/scripted-model): it streams, waits where the script says so, and fails on purpose.

import { spawn } from "node:child_process";
import { dirname, join } from "node:path";

import { binary } from "./server.mjs";

const program = process.env.SCRIPTED_MODEL_BIN ?? join(dirname(binary), "scripted-model");

/** The turns that follow a message with this text. */
export const on = (text, ...turns) => ({ when: { last_user_contains: text }, turns });

/** A call of `code_execution`. */
export const code = (text) => ({ name: "code_execution", arguments: { runtime: "terminal", code: text } });

/** A command that waits until a file is in the workspace. */
export const until = (path) => `while [ ! -e ${path} ]; do sleep 0.05; done`;

/** Starts a model that follows the rules. */
export async function startScripted(rules) {
  const script = { rules, turns: [{ text: "I have no more to say." }] };
  const child = spawn(program, [JSON.stringify(script)], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((found, failed) => {
    child.stdout.once("data", (line) => found(String(line).trim()));
    child.once("error", failed);
    child.once("exit", (status) => failed(new Error(`${program} exited with ${status}`)));
  });
  return {
    /** The section of a configuration. */
    config: `[models.scripted]\napi = "openai-chat"\nbase_url = "${url}/v1"\nmodel = "scripted"\ndefault = true\n`,
    /** Lets an answer go on that waits at `{{hold}}`. */
    release: async () => (await (await fetch(`${url}/control/release`, { method: "POST" })).json()).released,
    requests: async () => (await fetch(`${url}/control/requests`)).json(),
    stop: () => new Promise((gone) => { child.once("exit", gone); child.kill(); }),
  };
}
