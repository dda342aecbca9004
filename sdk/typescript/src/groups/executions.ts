// Executions: start, follow, control.
import { attach, type Attachment, type AttachOptions } from '../attach.js';
import { followExecution, type FollowOptions } from '../follow.js';
import { route, type Http, type RawBody } from '../http.js';
import type { Call, KeyedCall } from './call.js';
import type * as t from '../types.js';

export class Executions {
  constructor(private readonly http: Http) {}

  list(query?: t.Query<'listExecutions'>, call?: Call): Promise<t.ExecutionPage> {
    return this.http.request('GET', '/v1/executions', { query, ...call });
  }
  /** Returns an execution: at once, or with `wait` (`10s`) when it has ended. */
  get(id: string, query?: t.Query<'getExecution'>, call?: Call): Promise<t.Execution> {
    return this.http.request('GET', route`/v1/executions/${id}`, { query, ...call });
  }
  /** Starts an execution in a session of its own, which ends with it. */
  start(body: t.StartRequest, call?: KeyedCall & { lossless?: boolean }): Promise<t.Execution> {
    const { lossless, ...rest } = call ?? {};
    return this.http.once('/v1/executions', { body, query: { lossless }, ...rest });
  }
  /** Starts an execution in a session. */
  startIn(session: string, body: t.StartRequest, call?: KeyedCall & { lossless?: boolean }): Promise<t.Execution> {
    const { lossless, ...rest } = call ?? {};
    return this.http.once(route`/v1/sessions/${session}/executions`, { body, query: { lossless }, ...rest });
  }
  /** Runs an execution again, with the same command, variables and limits. Its input is not kept. */
  rerun(id: string, call?: KeyedCall): Promise<t.Execution> {
    return this.http.once(route`/v1/executions/${id}/rerun`, call ?? {});
  }
  follow(id: string, options?: FollowOptions): AsyncGenerator<t.ExecutionEvent, void> {
    return followExecution(this.http, id, options);
  }
  /** Attaches by WebSocket: receives bytes, sends input. */
  attach(id: string, options?: AttachOptions): Attachment {
    return attach(this.http, id, options);
  }
  /** The raw output, exactly the bytes that are kept. `response.body` is a stream. */
  output(id: string, query?: t.Query<'getExecutionOutput'>, call?: Call & { range?: string }): Promise<Response> {
    const { range, signal } = call ?? {};
    return this.http.raw('GET', route`/v1/executions/${id}/output`, { query, signal, headers: { range } });
  }
  /** Writes to standard input. With `offset` the same request can be sent again: bytes that arrived are skipped. */
  write(id: string, input: RawBody, query?: t.Query<'writeExecutionInput'>, call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/stdin`, { body: input, query, ...call });
  }
  cancel(id: string, body: Partial<t.Schemas['CancelRequest']> = {}, call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/cancel`, { body, ...call });
  }
  signal(id: string, body: t.Schemas['SignalRequest'], call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/signal`, { body, ...call });
  }
  resize(id: string, body: t.Schemas['ResizeRequest'], call?: Call): Promise<void> {
    return this.http.request('POST', route`/v1/executions/${id}/resize`, { body, ...call });
  }
  processes(id: string, call?: Call): Promise<t.Schemas['ProcessList']> {
    return this.http.request('GET', route`/v1/executions/${id}/processes`, call);
  }
  /** A recording in the format asciicast v3. */
  async recording(id: string, call?: Call): Promise<string> {
    return (await this.http.raw('GET', route`/v1/executions/${id}/recording`, call)).text();
  }
  /** Removes a closed execution and its log. */
  remove(id: string, call?: Call): Promise<void> {
    return this.http.request('DELETE', route`/v1/executions/${id}`, call);
  }
  /** Removes logs of ended executions. */
  prune(body: t.Schemas['PruneRequest'], call?: Call): Promise<t.Schemas['PrunedLogs']> {
    return this.http.request('POST', '/v1/prune', { body, ...call });
  }
}
