// The commands that exist on every page.
import CirclePlus from '@lucide/svelte/icons/circle-plus';
import History from '@lucide/svelte/icons/history';
import House from '@lucide/svelte/icons/house';
import Keyboard from '@lucide/svelte/icons/keyboard';
import KeyRound from '@lucide/svelte/icons/key-round';
import Layers from '@lucide/svelte/icons/layers';
import LogOut from '@lucide/svelte/icons/log-out';
import Play from '@lucide/svelte/icons/play';
import Settings from '@lucide/svelte/icons/settings';
import MessageSquare from '@lucide/svelte/icons/message-square';
import ShieldCheck from '@lucide/svelte/icons/shield-check';
import SquareTerminal from '@lucide/svelte/icons/square-terminal';
import SunMoon from '@lucide/svelte/icons/sun-moon';
import { activity } from '../app/activity.svelte';
import { auth } from '../app/auth.svelte';
import { client } from '../app/client';
import { commandText } from '../app/commandText';
import { dialogs } from '../app/dialogs.svelte';
import { preferences, type ThemeChoice } from '../app/preferences.svelte';
import { navigate } from '../router.svelte';
import { strings } from '../strings/en';
import { executionState } from '../ui';
import type { Command } from './commands.svelte';

const words = strings.palette;

async function newSession(): Promise<void> {
  const session = await client.sessions.create({});
  activity.refreshSoon();
  navigate(`/sessions/${session.id}`);
}

function places(): Command[] {
  const go = (id: string, label: string, icon: Command['icon'], path: string, keys?: string): Command => ({
    id: `go-${id}`,
    label,
    group: words.go,
    ...(icon ? { icon } : {}),
    ...(keys ? { keys } : {}),
    run: () => navigate(path),
  });
  const list = [
    go('home', strings.nav.home, House, '/', 'G H'),
    go('chat', strings.nav.chat, MessageSquare, '/chat', 'G C'),
    go('sessions', strings.nav.sessions, Layers, '/sessions', 'G E'),
    go('history', strings.nav.history, History, '/history', 'G Y'),
    go('settings', strings.nav.settings, Settings, '/settings', 'G S'),
    go('tokens', strings.settings.tabs.tokens, KeyRound, '/settings/tokens'),
  ];
  if (auth.isAdmin) list.push(go('admin', strings.nav.admin, ShieldCheck, '/admin'));
  return list;
}

function actions(): Command[] {
  if (!auth.canWrite) return [];
  return [
    {
      id: 'run',
      label: words.runSomething,
      group: words.actions,
      icon: Play,
      also: 'execute code',
      run: () => navigate('/?focus=code'),
    },
    {
      id: 'new-session',
      label: words.newSession,
      group: words.actions,
      icon: CirclePlus,
      also: 'create',
      run: newSession,
    },
  ];
}

function rest(): Command[] {
  const themes: ThemeChoice[] = ['system', 'light', 'dark'];
  return [
    ...themes.map((theme) => ({
      id: `theme-${theme}`,
      label: words.theme(strings.settings.themes[theme]),
      group: words.app,
      icon: SunMoon,
      also: 'appearance colour',
      run: () => preferences.set({ theme }),
    })),
    {
      id: 'shortcuts',
      label: strings.nav.shortcuts,
      group: words.app,
      icon: Keyboard,
      keys: '?',
      run: () => {
        dialogs.shortcuts = true;
      },
    },
    {
      id: 'sign-out',
      label: strings.nav.signOut,
      group: words.app,
      icon: LogOut,
      also: 'log out',
      run: () => auth.signOut(),
    },
  ];
}

/** Everything that the palette offers besides the commands of the page. */
export function appCommands(): Command[] {
  const sessions = activity.sessions.map((session) => ({
    id: session.id,
    label: session.name ?? session.id,
    group: words.sessions,
    icon: Layers,
    also: session.id,
    state: session.state,
    run: () => navigate(`/sessions/${session.id}`),
  }));
  const executions = activity.recent.map((execution) => ({
    id: execution.id,
    label: commandText(execution),
    group: words.executions,
    icon: SquareTerminal,
    also: execution.id,
    state: executionState(execution.state, execution.exit),
    run: () => navigate(`/executions/${execution.id}`),
  }));
  return [...actions(), ...places(), ...sessions, ...executions.slice(0, 12), ...rest()];
}
