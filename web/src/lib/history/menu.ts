// The menu of an execution in the history.

import Ban from '@lucide/svelte/icons/ban';
import Copy from '@lucide/svelte/icons/copy';
import GitCompare from '@lucide/svelte/icons/git-compare';
import Link from '@lucide/svelte/icons/link';
import RotateCw from '@lucide/svelte/icons/rotate-cw';
import Share from '@lucide/svelte/icons/share-2';
import Open from '@lucide/svelte/icons/square-arrow-out-up-right';
import Trash from '@lucide/svelte/icons/trash-2';
import Tv from '@lucide/svelte/icons/tv-minimal-play';
import type { Execution } from 'headwater';
import { strings } from '$lib/strings/en';
import type { MenuItem } from '$lib/ui';

export type ExecutionAction = 'rerun' | 'select' | 'share' | 'link' | 'command' | 'cancel' | 'remove';

/** The keys that do the same while a row has the focus. */
export const ACTION_KEYS: Readonly<Record<string, ExecutionAction>> = { x: 'select', r: 'rerun', y: 'link' };

export function menuOf(execution: Execution, canWrite: boolean, run: (action: ExecutionAction) => void): MenuItem[] {
  const words = strings.history;
  const hasEnded = execution.state === 'closed';
  const item = (action: ExecutionAction, label: string, icon: typeof Copy, keys?: string): MenuItem => ({
    label,
    icon,
    onselect: () => run(action),
    ...(keys ? { keys } : {}),
    danger: action === 'remove' || action === 'cancel',
  });
  return [
    { label: words.open, icon: Open, href: `/executions/${execution.id}`, keys: 'Enter' },
    ...(canWrite ? [item('rerun', words.rerun, RotateCw, 'R')] : []),
    item('select', words.select, GitCompare, 'X'),
    ...(execution.tty && !execution.log_removed
      ? [{ label: words.replay, icon: Tv, href: `/executions/${execution.id}/replay` }]
      : []),
    'separator',
    item('command', words.copyCommand, Copy),
    item('link', words.copyLink, Link, 'Y'),
    ...(canWrite ? [item('share', words.shareLink, Share)] : []),
    ...(canWrite ? (['separator'] as const) : []),
    ...(canWrite && !execution.exit ? [item('cancel', words.cancelRun, Ban)] : []),
    ...(canWrite && hasEnded ? [item('remove', words.remove, Trash)] : []),
  ];
}
