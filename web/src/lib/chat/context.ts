// What the parts of a conversation need from the page, without passing it through every component.
import { createContext } from 'svelte';
import type { Conversation } from './Conversation.svelte';

/** Returns the execution, or null if the code was sent as a message, whose answer shows it. */
export type RunCode = (code: string, language: string) => Promise<string | null>;

export interface ChatContext {
  readonly conversation: Conversation;
  /** Whether this person may send messages and decide. */
  readonly canWrite: boolean;
  /** Runs code in the session of the conversation. */
  readonly run: RunCode | undefined;
  /** Continues from an earlier message. */
  readonly branchFrom: ((message: string) => void) | undefined;
  /** How deep it is below the conversation of the page: 0 for that one. */
  readonly depth: number;
}

export const [getChat, setChat] = createContext<ChatContext>();
