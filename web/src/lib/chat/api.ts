// The requests of the chat, over the one client of the app.
import { ApiError, newKey, resumeStream, route, type Headwater, type StreamOptions } from 'headwater';
import type { PageOf } from '../lists/Paged.svelte';
import type {
  Answer,
  ApprovalDecision,
  ApprovalPolicy,
  Attachment,
  ConversationInfo,
  Delivery,
  LogEntry,
  Mode,
  ModelInfo,
  Snapshot,
} from './types';

export interface NewConversation {
  id: string;
  session_id?: string;
  model?: string;
  mode?: Mode;
  approval_policy?: ApprovalPolicy;
}

export type ConversationPatch = Partial<
  Pick<
    ConversationInfo,
    'title' | 'is_archived' | 'model' | 'approval_policy' | 'mode' | 'session_id' | 'wakes' | 'web_search'
  >
>;

export interface NewMessage {
  id: string;
  text: string;
  attachments?: Attachment[];
  /** The message that it follows: the current one if absent, none if null. */
  parent_id?: string | null;
  delivery?: Delivery;
}

export interface ListQuery {
  q?: string;
  archived?: boolean;
  parent_id?: string;
  limit?: number;
  cursor?: string | undefined;
}

export const newConversationId = (): string => `cnv_${newKey()}`;
export const newMessageId = (): string => `msg_${newKey()}`;

/** The path of a conversation in the API. */
export const pathOf = (id: string): string => route`/v1/conversations/${id}`;

export class ChatApi {
  constructor(readonly client: Headwater) {}

  async models(check = false): Promise<ModelInfo[]> {
    const query = check ? { check } : {};
    return (await this.client.request<{ items: ModelInfo[] }>('GET', '/v1/models', { query })).items;
  }

  list(query: ListQuery, signal?: AbortSignal): Promise<PageOf<ConversationInfo>> {
    return this.client.request('GET', '/v1/conversations', { query, signal });
  }

  create(body: NewConversation): Promise<ConversationInfo> {
    return this.client.http.once('/v1/conversations', { body });
  }

  get(id: string, signal?: AbortSignal): Promise<Snapshot> {
    return this.client.request('GET', pathOf(id), { signal });
  }

  change(id: string, body: ConversationPatch): Promise<ConversationInfo> {
    return this.client.request('PATCH', pathOf(id), { body });
  }

  remove(id: string): Promise<void> {
    return this.client.request('DELETE', pathOf(id));
  }

  /** Sends a message. Its id is ours, so that sending it again has one effect. */
  send(id: string, body: NewMessage): Promise<unknown> {
    return this.client.http.once(`${pathOf(id)}/messages`, { body });
  }

  withdraw(id: string, message: string): Promise<void> {
    return this.client.request('DELETE', route`/v1/conversations/${id}/queue/${message}`);
  }

  regenerate(id: string, message: string): Promise<unknown> {
    return this.client.request('POST', `${pathOf(id)}/regenerate`, { body: { message_id: message } });
  }

  selectBranch(id: string, message: string): Promise<unknown> {
    return this.client.request('POST', `${pathOf(id)}/branch`, { body: { message_id: message } });
  }

  stop(id: string): Promise<unknown> {
    return this.client.request('POST', `${pathOf(id)}/stop`);
  }

  decide(id: string, approval: string, decision: ApprovalDecision, reason?: string): Promise<unknown> {
    const body = { decision, ...(reason ? { reason } : {}) };
    return this.client.request('POST', route`/v1/conversations/${id}/approvals/${approval}`, { body });
  }

  answer(id: string, call: string, answers: Answer[]): Promise<unknown> {
    return this.client.request('POST', route`/v1/conversations/${id}/answers/${call}`, { body: { answers } });
  }

  attach(id: string, file: File): Promise<Attachment> {
    return this.client.request('POST', `${pathOf(id)}/attachments`, { query: { name: file.name }, body: file });
  }

  /** Yields the entries of the log after `after`, each once, over any number of connections. */
  follow(id: string, after: number, options: StreamOptions): AsyncGenerator<LogEntry, void> {
    let seq = after;
    return resumeStream<LogEntry>(
      (signal) =>
        this.client.http.raw('GET', `${pathOf(id)}/log`, {
          signal,
          query: { after: seq },
          headers: { accept: 'text/event-stream' },
        }),
      ({ event, data }) => {
        if (event === 'error') throw streamError(data);
        if (event !== 'entry') return {};
        const entry = JSON.parse(data) as LogEntry;
        if (entry.seq <= seq) return {};
        seq = entry.seq;
        return { item: entry };
      },
      options,
    );
  }
}

/** The error that the server sends in a stream, which has no status: the conversation is gone, or cannot be read. */
function streamError(data: string): ApiError {
  const {
    code = 'unknown',
    message = '',
    hint,
  } = JSON.parse(data) as { code?: string; message?: string; hint?: string };
  return new ApiError(code === 'not_found' ? 404 : 0, code, message, hint);
}
