// A chat of npm's `ai`, as an app without a framework has it, and what its tests wait for.

import { AbstractChat } from "ai";

/** The state that `AbstractChat` needs; every change wakes those who wait. */
class State {
  #values = { status: "ready", error: undefined, messages: [] };
  #waiting = new Set();

  constructor(messages) {
    this.#values.messages = messages;
    for (const name of ["status", "error", "messages"]) {
      Object.defineProperty(this, name, { get: () => this.#values[name], set: (value) => this.#set(name, value) });
    }
  }

  #set(name, value) {
    this.#values[name] = value;
    this.wake();
  }

  wake() {
    for (const look of [...this.#waiting]) look();
  }

  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (at, message) => { this.messages = this.messages.with(at, this.snapshot(message)); };
  snapshot = (value) => structuredClone(value);

  /** Waits until this is true. */
  until(what, isTrue) {
    return new Promise((done, failed) => {
      const state = () => JSON.stringify({ status: this.status, error: this.error?.message, messages: this.messages });
      const deadline = setTimeout(() => { this.#waiting.delete(look); failed(new Error(`no ${what}: ${state()}`)); }, 60_000);
      const look = () => {
        if (!isTrue()) return;
        clearTimeout(deadline);
        this.#waiting.delete(look);
        done();
      };
      this.#waiting.add(look);
      look();
    });
  }
}

export class Chat extends AbstractChat {
  /** Output of running calls: `[type, content]`. */
  progress = [];

  constructor({ messages = [], ...init }) {
    super({ ...init, state: new State(messages), onData: (part) => this.#take(part) });
  }

  #take({ type, data }) {
    if (type === "data-tool-progress") this.progress.push([data.type, data.content]);
    this.state.wake();
  }

  until(what, isTrue) {
    return this.state.until(what, () => isTrue(this));
  }

  /** Waits until the response has ended. */
  async settled() {
    await this.until("end of the response", ({ status }) => status === "ready" || status === "error");
  }

  /** The text of the last message. */
  get text() {
    return (this.lastMessage?.parts ?? []).filter(({ type }) => type === "text").map(({ text }) => text).join("");
  }

  /** The calls of the last message. */
  get calls() {
    return (this.lastMessage?.parts ?? []).filter(({ type }) => type === "dynamic-tool");
  }

  /** What running calls have printed to this stream. */
  printed(type) {
    return this.progress.filter(([kind]) => kind === type).map(([, content]) => content).join("");
  }
}
