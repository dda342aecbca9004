// A real server for a test: started on a free port, ended with its worker and sessions.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
/** The binary of the server. */
export const binary = process.env.HEADWATER_BIN
  ?? fileURLToPath(new URL("../../target/x86_64-unknown-linux-gnu/debug/headwater", import.meta.url));

/** Starts a server with an empty data folder. `config` is the text of a configuration. */
export async function startServer({ config } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "hw-js-"));
  const server = new Server(folder);
  if (config !== undefined) {
    server.config = join(folder, "config.toml");
    await writeFile(server.config, config);
  }
  await server.start("127.0.0.1:0");
  return server;
}

class Server {
  constructor(folder) {
    this.folder = folder;
    this.data = join(folder, "data");
  }

  async start(listen) {
    const args = ["serve", "--listen", listen, "--data", this.data];
    if (this.config) args.push("--config", this.config);
    this.process = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise((ready, failed) => {
      let said = "";
      this.process.stdout.on("data", (text) => (said += text).includes("is listening on") && ready());
      this.process.once("exit", (code) => failed(new Error(`the server ended with ${code}`)));
    });
    this.address = JSON.parse(await readFile(join(this.data, "server.json"), "utf8")).address;
    this.token = (await readFile(join(this.data, "token"), "utf8")).trim();
    this.url = `http://${this.address}`;
    this.headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
  }

  /** Kills the gateway with -9 and starts another one on the same address. */
  async killAndRestart() {
    const gone = new Promise((done) => this.process.once("exit", done));
    this.process.kill("SIGKILL");
    await gone;
    await this.start(this.address);
  }

  async post(path, body) {
    const answer = await fetch(this.url + path, { method: "POST", headers: this.headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : answer.json();
  }

  async get(path) {
    const answer = await fetch(this.url + path, { headers: this.headers });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** A token of this user. */
  async tokenOf(user) {
    const { stdout } = await run(binary, ["token", "create", "--user", user, "--data", this.data]);
    return /hw_\w+/.exec(stdout)[0];
  }

  /** What lets a client in that can set no header. */
  async ticket() {
    return (await this.post("/v1/tickets", {})).ticket;
  }

  async stop() {
    await run(binary, ["stop", "--end-sessions", "--yes", "--data", this.data]);
    for (let tries = 0; this.process.exitCode === null && this.process.signalCode === null && tries < 500; tries++) {
      await sleep(10);
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}
