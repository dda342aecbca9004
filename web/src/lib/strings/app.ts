// Words of the shell, the UI kit, states, the palette and the shortcuts.

export const product = 'Headwater';

export const nav = {
  label: 'Main',
  home: 'Home',
  chat: 'Chat',
  sessions: 'Sessions',
  history: 'History',
  admin: 'Admin',
  settings: 'Settings',
  commands: 'Commands',
  account: 'Account',
  signOut: 'Sign out',
  shortcuts: 'Keyboard shortcuts',
  apiReference: 'API reference',
  skip: 'Skip to the content',
  more: 'More',
};

export const ui = {
  close: 'Close',
  cancel: 'Cancel',
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'The browser did not allow copying.',
  undo: 'Undo',
  retry: 'Try again',
  requestId: 'Request',
  copyRequestId: 'Copy the request id',
  noAnswer: 'The server does not answer. Check the connection, then try again.',
  loading: 'Loading',
  notifications: 'Notifications',
};

export const states = {
  queued: 'queued',
  running: 'running',
  exited: 'exited',
  closed: 'ended',
  ready: 'ready',
  hibernated: 'hibernated',
  ended: 'ended',
  succeeded: 'succeeded',
  completed: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  timed_out: 'timed out',
  signalled: 'killed by a signal',
  oom: 'out of memory',
  output_limit: 'output limit',
  disk_limit: 'disk full',
  setup_failed: 'did not start',
  lost: 'lost',
  live: 'live',
  connecting: 'connecting',
  connected: 'connected',
  reconnecting: 'reconnecting',
  offline: 'offline',
  disabled: 'disabled',
  active: 'active',
};

export const connection = {
  offline: 'You are offline. What runs keeps running.',
  reconnecting: (seconds: number): string =>
    seconds > 0
      ? `The server does not answer. Trying again in ${seconds} s.`
      : 'The server does not answer. Trying now.',
  now: 'Try now',
};

export const errors = {
  notFoundTitle: 'There is nothing here',
  notFound: (path: string): string => `The page ${path} does not exist.`,
  goHome: 'Go to the start page',
  crashTitle: 'This page stopped working',
  crash: 'What runs on the server keeps running, and saved files are safe.',
  reload: 'Load it again',
  oldTitle: 'This page could not be loaded',
  part: 'A part of this page could not be loaded.',
  old: 'The server may have been updated meanwhile. Load the app again to continue.',
};

export const missingSession = {
  title: 'You cannot open this session',
  text: (session: string): string =>
    `There is no session ${session}, or it belongs to somebody who has not shared it with you.`,
  whatToDo: 'What to do',
  ask: 'If somebody sent you the link, ask them to add you as a member: Sessions, Share, Members.',
  yourName: (name: string): string => `Your name is ${name}.`,
  copyName: 'Copy your name',
  guest: 'You opened another session by a link. Sign in with your own account to see your sessions.',
  check:
    'If it was yours, check the address. Sessions that were deleted do not come back; their output may be in the history.',
  back: 'All sessions',
  shared: 'Shared with me',
  history: 'History',
  retry: 'Try again',
  link: 'Open with the link',
  linkText: (name: string): string =>
    `The address has a link for guests. It opens the session, and signs ${name} out of this browser.`,
  linkFailed: 'This link does not work any more. Ask whoever sent it for a new one.',
  endedTitle: 'This session has ended',
  endedText: 'Its files are no longer kept. What its programs printed is in the history, as long as that is kept.',
};

export const palette = {
  title: 'Commands',
  placeholder: 'Search commands, sessions and executions',
  none: 'Nothing matches.',
  go: 'Go to',
  sessions: 'Sessions',
  executions: 'Recent executions',
  actions: 'Commands',
  app: 'App',
  newSession: 'New session',
  theme: (name: string): string => `Theme: ${name}`,
  runSomething: 'Run something',
  results: 'Results',
};

export const shortcuts = {
  title: 'Keyboard shortcuts',
  groups: {
    everywhere: 'Everywhere',
    editor: 'Editor and files',
    terminal: 'Terminal',
    output: 'Output',
    chat: 'Chat',
  },
  palette: 'Command palette',
  help: 'This list',
  home: 'Go to Home',
  chat: 'Go to Chat',
  newChat: 'New conversation',
  send: 'Send a message',
  newLine: 'New line in a message',
  stop: 'Stop the agent',
  sessions: 'Go to Sessions',
  history: 'Go to History',
  settings: 'Go to Settings',
  run: 'Run',
  close: 'Close a dialog, leave a field',
  file: 'Open a file by name',
  save: 'Save',
  search: 'Search in files',
  terminal: 'Show or hide the terminals',
  side: 'Show or hide the files',
  problems: 'Show the problems',
  zen: 'Only the editor (zen mode)',
  find: 'Search in the output',
  copyTerminal: 'Copy and paste',
  then: 'then',
};
