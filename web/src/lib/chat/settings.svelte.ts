// How the agent works in a conversation: model, mode, when it asks. Before the first message they are kept here, and
// afterwards by the server.
import { toast } from '../ui';
import { loadItem, saveItem } from '../app/storage';
import type { ChatApi, NewConversation } from './api';
import type { Conversation } from './Conversation.svelte';
import type { ApprovalPolicy, Mode, ModelInfo } from './types';

export class ChatSettings {
  /** Null until they are known. */
  models = $state.raw<readonly ModelInfo[] | null>(null);
  #model = $state(loadItem('chat.model'));
  #mode = $state<Mode>('default');
  #policy = $state<ApprovalPolicy>('on-request');

  constructor(
    readonly api: ChatApi,
    /** The conversation that is shown. */
    readonly conversation: () => Conversation | null,
  ) {}

  /** Loads the models; then asks which of them can be reached. */
  async load(): Promise<void> {
    this.models = await this.api.models();
    if (this.models.length > 0) this.models = await this.api.models(true);
  }

  /** Whether there is no model, so that only `/run` lines and blocks of code do something. */
  get isNotebook(): boolean {
    return this.models?.length === 0;
  }

  get model(): string | null {
    const names = this.models?.map(({ name }) => name) ?? [];
    const info = this.conversation()?.info;
    const chosen = info ? (info.model ?? null) : this.#model;
    if (chosen !== null && names.includes(chosen)) return chosen;
    return this.models?.find(({ is_default }) => is_default)?.name ?? names[0] ?? null;
  }

  get mode(): Mode {
    return this.conversation()?.info?.mode ?? this.#mode;
  }

  get policy(): ApprovalPolicy {
    return this.conversation()?.info?.approval_policy ?? this.#policy;
  }

  set(change: { model?: string; mode?: Mode; approval_policy?: ApprovalPolicy }): void {
    if (change.model) {
      this.#model = change.model;
      saveItem('chat.model', change.model);
    }
    this.#mode = change.mode ?? this.#mode;
    this.#policy = change.approval_policy ?? this.#policy;
    this.conversation()
      ?.change(change)
      .catch((error: unknown) => toast.error(error));
  }

  /** What a new conversation begins with. */
  get forNew(): Omit<NewConversation, 'id'> {
    const { model } = this;
    return { mode: this.#mode, approval_policy: this.#policy, ...(model ? { model } : {}) };
  }
}
