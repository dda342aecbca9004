// The icon of each kind of tool.
import Bot from '@lucide/svelte/icons/bot';
import CircleHelp from '@lucide/svelte/icons/circle-question-mark';
import FilePen from '@lucide/svelte/icons/file-pen';
import Image from '@lucide/svelte/icons/image';
import ListChecks from '@lucide/svelte/icons/list-checks';
import SquareTerminal from '@lucide/svelte/icons/square-terminal';
import Wrench from '@lucide/svelte/icons/wrench';
import type { Icon } from '../../ui';
import type { CardKind } from './describe';

export const icons: Record<CardKind, Icon> = {
  output: SquareTerminal,
  diff: FilePen,
  image: Image,
  plan: ListChecks,
  question: CircleHelp,
  agent: Bot,
  other: Wrench,
};
