// The menu of a conversation, in the list and on its page.
import Archive from '@lucide/svelte/icons/archive';
import ArchiveRestore from '@lucide/svelte/icons/archive-restore';
import Download from '@lucide/svelte/icons/download';
import Pencil from '@lucide/svelte/icons/pencil';
import Trash from '@lucide/svelte/icons/trash-2';
import { chat as words } from '../strings/chat';
import { download, type MenuItem } from '../ui';
import { pathOf } from './api';
import type { ConversationInfo } from './types';

export interface ConversationActions {
  rename: () => void;
  archive: () => void;
  remove: () => void;
}

/** The formats in which a conversation can be saved. */
const FORMATS = ['markdown', 'json', 'ipynb'] as const;

/** What everybody can do who may read a conversation. */
export const exportsOf = ({ id }: Pick<ConversationInfo, 'id'>): MenuItem[] =>
  FORMATS.map((format) => ({
    label: words.actions.export[format],
    icon: Download,
    onselect: () => download(`${pathOf(id)}/export?format=${format}`),
  }));

export function menuOf(conversation: ConversationInfo, actions: ConversationActions): MenuItem[] {
  const say = words.actions;
  const isArchived = conversation.is_archived;
  return [
    { label: say.rename, icon: Pencil, takesFocus: true, onselect: actions.rename },
    {
      label: isArchived ? say.unarchive : say.archive,
      icon: isArchived ? ArchiveRestore : Archive,
      onselect: actions.archive,
    },
    'separator',
    ...exportsOf(conversation),
    'separator',
    { label: say.remove, icon: Trash, danger: true, onselect: actions.remove },
  ];
}
