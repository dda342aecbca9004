// All words of the interface in English, grouped by area. A translation is a file of the same shape.
import { admin } from './admin';
import { connection, errors, missingSession, nav, palette, product, shortcuts, states, ui } from './app';
import { chat } from './chat';
import { history } from './history';
import { home } from './home';
import { ide } from './ide';
import { ports } from './ports';
import { runs } from './runs';
import { sessions } from './sessions';
import { settings } from './settings';
import { signin } from './signin';
import { terminal } from './terminal';

export const strings = {
  product,
  nav,
  ui,
  states,
  connection,
  errors,
  missingSession,
  palette,
  shortcuts,
  signin,
  home,
  chat,
  settings,
  runs,
  ide,
  ports,
  terminal,
  sessions,
  history,
  admin,
};
