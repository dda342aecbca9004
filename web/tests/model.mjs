// Starts the scripted model: an endpoint that answers as the specs say.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { binary } from './server.mjs';

/** The binary: SCRIPTED_MODEL_BIN, or the one beside the server. */
const program = process.env.SCRIPTED_MODEL_BIN ?? join(dirname(binary), 'scripted-model');

export class ScriptedModel {
  #child;

  constructor(child, url) {
    this.#child = child;
    this.url = url;
  }

  static async start(script) {
    const child = spawn(program, [JSON.stringify(script)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const url = await new Promise((found, failed) => {
      child.stdout.once('data', (line) => found(String(line).trim()));
      child.once('error', failed);
      child.once('exit', (code) => failed(new Error(`${program} exited with ${code}`)));
    });
    return new ScriptedModel(child, url);
  }

  /** The section of a configuration with this model, and one that cannot be reached. */
  get config() {
    const model = (name, url, more = '') =>
      `[models.${name}]\napi = "openai-chat"\nbase_url = "${url}"\nmodel = "scripted"\n${more}`;
    return `${model('scripted', `${this.url}/v1`, 'default = true\n')}\n${model('away', 'http://127.0.0.1:9/v1')}`;
  }

  /** Lets an answer go on that waits at `{{hold}}`. */
  async release() {
    const answer = await fetch(`${this.url}/control/release`, { method: 'POST' });
    const { released } = await answer.json();
    if (released < 1) throw new Error('nothing waited for a release');
  }

  async requests() {
    return (await fetch(`${this.url}/control/requests`)).json();
  }

  async close() {
    if (this.#child.exitCode !== null) return;
    const ended = new Promise((resolved) => this.#child.once('exit', resolved));
    this.#child.kill();
    await ended;
  }
}
