// The menu of a session. What it offers depends on its state and on the rights of the user.

import Camera from '@lucide/svelte/icons/camera';
import Copy from '@lucide/svelte/icons/copy';
import GitFork from '@lucide/svelte/icons/git-fork';
import HistoryIcon from '@lucide/svelte/icons/history';
import Moon from '@lucide/svelte/icons/moon';
import Pencil from '@lucide/svelte/icons/pencil';
import Play from '@lucide/svelte/icons/square-arrow-out-up-right';
import Trash from '@lucide/svelte/icons/trash-2';
import UserPlus from '@lucide/svelte/icons/user-plus';
import type { Session } from 'headwater';
import { strings } from '$lib/strings/en';
import type { MenuItem } from '$lib/ui';

export type SessionAction = 'rename' | 'share' | 'fork' | 'snapshots' | 'hibernate' | 'end' | 'copy';

/** The keys that do the same while a row has the focus. */
export const ACTION_KEYS: Readonly<Record<string, SessionAction>> = { r: 'rename', s: 'share', e: 'end' };

/** Which actions the user may take. Owners and operators may do everything; others get an answer from the server. */
export function allowed(session: Session, rights: { canWrite: boolean; isOwner: boolean }): ReadonlySet<SessionAction> {
  const actions = new Set<SessionAction>(['copy']);
  if (!rights.canWrite || session.state === 'ended') {
    if (rights.canWrite && rights.isOwner) actions.add('end');
    return actions;
  }
  for (const action of ['rename', 'fork', 'snapshots'] as const) actions.add(action);
  if (session.state === 'ready') actions.add('hibernate');
  actions.add('share');
  if (rights.isOwner) actions.add('end');
  return actions;
}

export function menuOf(
  session: Session,
  may: ReadonlySet<SessionAction>,
  run: (action: SessionAction) => void,
): MenuItem[] {
  const words = strings.sessions;
  const item = (action: SessionAction, label: string, icon: typeof Copy, keys?: string): MenuItem[] =>
    may.has(action)
      ? [{ label, icon, onselect: () => run(action), ...(keys ? { keys } : {}), danger: action === 'end' }]
      : [];
  const open: MenuItem[] =
    session.state === 'ended'
      ? []
      : [{ label: words.open, icon: Play, href: `/sessions/${session.id}`, keys: 'Enter' }];
  const end = item('end', words.end, Trash, 'E');
  return [
    ...open,
    { label: words.history, icon: HistoryIcon, href: `/history?session=${session.id}` },
    ...item('rename', words.rename, Pencil, 'R'),
    ...item('share', words.share, UserPlus, 'S'),
    ...item('fork', words.fork, GitFork),
    ...item('snapshots', words.snapshots, Camera),
    ...item('hibernate', words.hibernate, Moon),
    ...item('copy', words.copyId, Copy),
    ...(end.length > 0 ? (['separator', ...end] as MenuItem[]) : []),
  ];
}
