// What the IDE does by a shortcut and in the command palette.
import FileSearch from '@lucide/svelte/icons/file-search';
import Maximize from '@lucide/svelte/icons/maximize';
import PanelLeft from '@lucide/svelte/icons/panel-left';
import Play from '@lucide/svelte/icons/play';
import Save from '@lucide/svelte/icons/save';
import Search from '@lucide/svelte/icons/search';
import SquareTerminal from '@lucide/svelte/icons/square-terminal';
import TriangleAlert from '@lucide/svelte/icons/triangle-alert';
import type { Command } from '../palette/commands.svelte';
import { strings } from '../strings/en';
import type { Ide } from './ide.svelte';
import type { Layout } from './layout.svelte';
import { defaultAction } from './runbar';

const words = strings.shortcuts;

/** The commands of the IDE of one session. */
export function ideCommands(ide: Ide, layout: Layout): Command[] {
  const all: Omit<Command, 'group'>[] = [
    { id: 'ide-run', label: words.run, icon: Play, keys: 'Mod+Enter', run: () => runFile(ide, layout) },
    { id: 'ide-save', label: words.save, icon: Save, keys: 'Mod+S', run: () => save(ide) },
    { id: 'ide-file', label: words.file, icon: FileSearch, keys: 'Mod+P', run: () => void (layout.isQuickOpen = true) },
    { id: 'ide-search', label: words.search, icon: Search, keys: 'Mod+Shift+F', run: () => layout.search() },
    {
      id: 'ide-terminal',
      label: words.terminal,
      icon: SquareTerminal,
      keys: 'Mod+`',
      run: () => layout.toggleTerminal(),
    },
    { id: 'ide-problems', label: words.problems, icon: TriangleAlert, run: () => layout.showProblems() },
    {
      id: 'ide-side',
      label: words.side,
      icon: PanelLeft,
      keys: 'Mod+B',
      run: () => void (layout.isSideOpen = !layout.isSideOpen),
    },
    { id: 'ide-zen', label: words.zen, icon: Maximize, run: () => void (layout.isZen = !layout.isZen) },
  ];
  return all.map((command) => ({ ...command, group: words.groups.editor }));
}

async function save(ide: Ide): Promise<void> {
  if (ide.active !== null && ide.canWrite) await ide.save(ide.active);
}

function runFile(ide: Ide, layout: Layout): void {
  const path = ide.active;
  if (path === null || !ide.canWrite) return;
  const target = ide.targetOf(path);
  const action = defaultAction(target);
  if (action === null) return;
  layout.showOutput();
  void ide.runner.press(path, target, action);
}
