// The commands that the palette offers on the page of the chat.
import Code from '@lucide/svelte/icons/square-code';
import MessageSquare from '@lucide/svelte/icons/message-square';
import MessageSquarePlus from '@lucide/svelte/icons/message-square-plus';
import Square from '@lucide/svelte/icons/square';
import type { Command } from '../palette/commands.svelte';
import { navigate } from '../router.svelte';
import { chat as words } from '../strings/chat';
import type { Conversation } from './Conversation.svelte';
import type { ConversationInfo } from './types';

/** As many conversations as a person would scroll through. */
const MOST = 12;

export function chatCommands(
  conversation: Conversation | null,
  recent: readonly ConversationInfo[],
  page: { start: () => void; canWrite: boolean },
): Command[] {
  const commands: Command[] = [];
  const add = (command: Omit<Command, 'group'>): void => void commands.push({ group: words.title, ...command });
  if (page.canWrite) {
    add({
      id: 'chat-new',
      label: words.list.create,
      icon: MessageSquarePlus,
      keys: 'C',
      also: 'chat',
      run: page.start,
    });
  }
  if (conversation?.isRunning && page.canWrite) {
    add({ id: 'chat-stop', label: words.composer.stop, icon: Square, run: () => conversation.stop() });
  }
  const session = conversation?.info?.session_id;
  if (session) {
    add({ id: 'chat-ide', label: words.actions.openIde, icon: Code, run: () => navigate(`/sessions/${session}`) });
  }
  for (const { id, title, is_running, is_waiting } of recent.slice(0, MOST)) {
    add({
      id: `chat-${id}`,
      label: title ?? words.untitled,
      icon: MessageSquare,
      ...(is_waiting ? { state: words.list.waiting } : is_running ? { state: 'running' } : {}),
      run: () => navigate(`/chat/${id}`),
    });
  }
  return commands;
}
