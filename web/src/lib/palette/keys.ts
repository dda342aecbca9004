// All shortcuts of the app, for the list of them.
import { strings } from '../strings/en';

interface KeyGroup {
  title: string;
  keys: [keys: string, what: string][];
}

const words = strings.shortcuts;

export const keyGroups: KeyGroup[] = [
  {
    title: words.groups.everywhere,
    keys: [
      ['Mod+K', words.palette],
      ['?', words.help],
      ['G H', words.home],
      ['G C', words.chat],
      ['G E', words.sessions],
      ['G Y', words.history],
      ['G S', words.settings],
      ['Esc', words.close],
    ],
  },
  {
    title: words.groups.editor,
    keys: [
      ['Mod+Enter', words.run],
      ['Mod+S', words.save],
      ['Mod+P', words.file],
      ['Mod+Shift+F', words.search],
      ['Mod+`', words.terminal],
      ['Mod+B', words.side],
    ],
  },
  {
    title: words.groups.chat,
    keys: [
      ['Enter', words.send],
      ['Shift+Enter', words.newLine],
      ['Esc', words.stop],
      ['C', words.newChat],
    ],
  },
  { title: words.groups.output, keys: [['Mod+F', words.find]] },
  { title: words.groups.terminal, keys: [['Mod+Shift+C', words.copyTerminal]] },
];
