// Runs and builds files of a session: drives the state machine of the run bar with the answers of the server.
import { ApiError, type Build, type Execution, type Headwater } from 'headwater';
import { SvelteMap } from 'svelte/reactivity';
import { strings } from '../strings/en';
import { duration, explain, toast } from '../ui';
import { problemsOf, type Problem } from './diagnostics';
import { flagsOf, readOptions, type CompilerOptions } from './flags';
import { readRunOptions, requestOf, type RunOptions } from './options';
import { normalise, parentOf } from './paths';
import type { Memory } from './remember';
import { IDLE, next, programOf, type RunAction, type RunEvent, type RunState, type Target } from './runbar';
import { splitWords } from './words';

/** What the output pane shows: an execution, a build that needed none because it was cached, or one that begins. */
export type Shown =
  | { kind: 'execution'; id: string; hasInput: boolean; build: Build | null }
  | { kind: 'build'; build: Build }
  | { kind: 'pending' }
  | null;

interface Hooks {
  save: (path: string) => Promise<boolean>;
  textOf: (path: string) => Promise<string>;
  /** Something was started or ended: lists are out of date. */
  onchange: () => void;
}

export class Runner {
  readonly states = new SvelteMap<string, RunState>();
  /** The execution or build that each file is busy with. */
  readonly #busy = new Map<string, { execution?: string; build?: string }>();
  shown: Shown = $state.raw(null);
  /** What could not be started, as text of the console. */
  failure: { title: string; text: string } | null = $state.raw(null);
  /** The problems of the last build of each file. */
  readonly problems = new SvelteMap<string, Problem[]>();
  options: RunOptions = $state.raw(readRunOptions(null));
  #isClosed = false;

  constructor(
    private readonly client: Headwater,
    private readonly session: string,
    private readonly memory: Memory,
    private readonly hooks: Hooks,
  ) {
    this.options = readRunOptions(memory.read('run'));
  }

  stateOf(path: string): RunState {
    return this.states.get(path) ?? IDLE;
  }

  setOptions(options: RunOptions): void {
    this.options = options;
    this.memory.write('run', options);
  }

  compilerOptions(language: 'c' | 'cpp'): CompilerOptions {
    return readOptions(this.memory.read(`flags-${language}`), language);
  }

  setCompilerOptions(language: 'c' | 'cpp', options: CompilerOptions): void {
    this.memory.write(`flags-${language}`, options);
  }

  /** Forgets the binary of a file that was edited. */
  edited(path: string): void {
    this.#send(path, { type: 'edited' });
  }

  /** Does what a button says: saves the file, builds it if needed, and runs it. */
  async press(path: string, target: Target, action: RunAction): Promise<void> {
    if (this.stateOf(path).phase !== 'idle') return;
    this.#send(path, { type: 'press', action });
    this.failure = null;
    try {
      if (!(await this.hooks.save(path))) {
        toast.error(strings.ide.saveFirst);
        this.#send(path, { type: 'failed' });
        return;
      }
      this.#send(path, { type: 'saved' });
      if (action === 'build' || action === 'build-and-run') await this.#build(path, target);
      if (this.stateOf(path).phase === 'starting') await this.#run(path, target);
    } catch (error) {
      this.#fail(path, error);
    }
  }

  async #build(path: string, target: Target): Promise<void> {
    this.shown = { kind: 'pending' };
    const started = await this.client.builds.start(this.session, this.#buildRequest(path, target));
    this.#busy.set(path, { build: started.build_id });
    if (started.execution_id) this.#show(started.execution_id, false, started);
    this.hooks.onchange();
    let build = started;
    while (build.status === 'running' && !this.#isClosed) {
      build = await this.client.builds.get(build.build_id, { wait: '30s' });
    }
    this.#busy.delete(path);
    this.hooks.onchange();
    this.problems.set(path, problemsOf(build.diagnostics));
    const id = build.execution_id ?? started.execution_id;
    if (id) this.#show(id, false, build);
    else this.shown = { kind: 'build', build };
    if (build.status !== 'success') {
      this.#send(path, { type: 'build-failed' });
      const errors = build.diagnostics.filter(({ severity }) => severity === 'error').length;
      toast.error(build.status === 'failed' ? strings.ide.buildFailed(errors) : strings.ide.buildStates[build.status]);
      return;
    }
    const wanted = target.kind === 'compiled' ? target.binary : null;
    const binary = programOf(build.artifacts.map(normalise), wanted);
    if (binary === null) toast.error(strings.ide.noProgram);
    if (this.stateOf(path).action === 'build') {
      toast.success(strings.ide.buildOk(duration(build.duration_ms ?? 0), build.cached));
    }
    this.#send(path, { type: 'built', binary });
  }

  #buildRequest(path: string, target: Target) {
    if (target.kind === 'project') {
      return { kind: target.tool, source_dir: `/${parentOf(path)}`, wait: false } as const;
    }
    const kind = target.kind === 'compiled' ? target.language : 'cpp';
    const options = this.compilerOptions(kind);
    return {
      kind,
      source_files: [path, ...splitWords(options.sources).map(normalise)],
      output_binary: target.kind === 'compiled' ? target.binary : null,
      flags: flagsOf(options),
      sanitize: options.sanitize,
      wait: false,
    };
  }

  async #run(path: string, target: Target): Promise<void> {
    const { args, ...request } = requestOf(this.options);
    const metadata = { source: 'ide', file: path };
    const binary = this.stateOf(path).binary;
    let execution: Execution;
    if (target.kind === 'language') {
      const code = await this.hooks.textOf(path);
      // What requirement 326 wants in the console.
      console.debug('run', { sessionId: this.session, selectedFile: path, codeLength: code.length });
      const body = { ...request, args: args ?? [], language: target.language, code, file: path, metadata };
      execution = await this.client.executions.startIn(this.session, body);
    } else if (binary !== null) {
      const argv = [`./${binary}`, ...(args ?? [])];
      console.debug('run', { sessionId: this.session, selectedFile: path, binary });
      execution = await this.client.executions.startIn(this.session, { ...request, argv, metadata });
    } else return this.#send(path, { type: 'failed' });
    this.#send(path, { type: 'started' });
    this.#show(execution.id, this.options.stdin === 'open');
    this.hooks.onchange();
    await this.#await(path, execution.id);
  }

  /** Waits for the end of an execution. The output view follows it by itself. */
  async #await(path: string, id: string): Promise<void> {
    this.#busy.set(path, { execution: id });
    while (!this.#isClosed) {
      const execution = await this.client.executions.get(id, { wait: '30s' }).catch((error: unknown) => {
        if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
        // The server restarts or the network is away; the program runs on.
        return new Promise<null>((resolve) => setTimeout(() => resolve(null), 2000));
      });
      if (execution?.exit) break;
    }
    this.#busy.delete(path);
    if (this.shown?.kind === 'execution' && this.shown.id === id) this.shown = { ...this.shown, hasInput: false };
    this.#send(path, { type: 'ended' });
    this.hooks.onchange();
  }

  /** After a reload: shows what runs again, and waits for its end. */
  resume(running: readonly Execution[]): void {
    for (const execution of running) {
      const file = execution.metadata['file'];
      if (execution.metadata['source'] !== 'ide' || typeof file !== 'string') continue;
      this.shown ??= { kind: 'execution', id: execution.id, hasInput: true, build: null };
      if (this.stateOf(file).phase !== 'idle') continue;
      this.states.set(file, { ...this.stateOf(file), phase: 'running', action: 'run' });
      void this.#await(file, execution.id).catch(() => this.#send(file, { type: 'failed' }));
    }
  }

  /** Cancels what a file is busy with. */
  async stop(path: string): Promise<void> {
    const { execution, build } = this.#busy.get(path) ?? {};
    try {
      if (build !== undefined) await this.client.builds.cancel(build);
      if (execution !== undefined) await this.client.executions.cancel(execution);
    } catch (error) {
      toast.error(error);
    }
  }

  showExecution(execution: Execution): void {
    this.failure = null;
    this.#show(execution.id, execution.exit === null || execution.exit === undefined);
  }

  close(): void {
    this.#isClosed = true;
  }

  #show(id: string, hasInput: boolean, build: Build | null = null): void {
    this.shown = { kind: 'execution', id, hasInput, build };
  }

  #send(path: string, event: RunEvent): void {
    this.states.set(path, next(this.stateOf(path), event));
  }

  #fail(path: string, error: unknown): void {
    this.#busy.delete(path);
    this.#send(path, { type: 'failed' });
    if (this.shown?.kind === 'pending') this.shown = null;
    const { message, hint, requestId } = explain(error);
    const id = requestId === undefined ? [] : [requestId];
    this.failure = { title: strings.ide.notStarted, text: [message, ...(hint ? [hint] : []), ...id].join('\n') };
    toast.error(error);
  }
}
