// Text styles of output, and how SGR sequences (`ESC [ ... m`) change them.

/** Bits of `Style.flags`. */
export const BOLD = 1;
export const DIM = 2;
export const ITALIC = 4;
export const UNDERLINE = 8;
export const INVERSE = 16;
export const STRIKE = 32;

/** A colour that is not from the palette: this bit, and 24 bits of RGB. */
export const RGB = 0x1000000;
/** The default colour. */
export const DEFAULT = -1;

/** How a run of text is drawn. Styles are never changed: equal ones are often the same object. */
export interface Style {
  readonly fg: number;
  readonly bg: number;
  readonly flags: number;
  /** The target of an OSC 8 link: always http or https. */
  readonly link: string | null;
}

export const PLAIN: Style = { fg: DEFAULT, bg: DEFAULT, flags: 0, link: null };

export function sameStyle(a: Style, b: Style): boolean {
  return a === b || (a.fg === b.fg && a.bg === b.bg && a.flags === b.flags && a.link === b.link);
}

export function isPlain(style: Style): boolean {
  return style === PLAIN || sameStyle(style, PLAIN);
}

/** What sequences made of styles: programs use the same few over and over, and equal styles become one object. */
let transitions = new Map<Style, Map<string, Style>>();
let transitionCount = 0;

/** Returns the style after an SGR sequence with these parameters. Unknown parameters have no effect. */
export function applySgr(style: Style, parameters: string): Style {
  if (parameters === '' || parameters === '0') return withLink(PLAIN, style.link ?? '');
  let known = transitions.get(style);
  const found = known?.get(parameters);
  if (found !== undefined) return found;
  if (transitionCount > 2000) {
    transitions = new Map();
    transitionCount = 0;
    known = undefined;
  }
  if (known === undefined) transitions.set(style, (known = new Map()));
  const next = sgr(style, parameters);
  known.set(parameters, next);
  transitionCount += 1;
  return next;
}

function sgr(style: Style, parameters: string): Style {
  let { fg, bg, flags } = style;
  // `38:2::r:g:b` and `38;2;r;g;b` are both in use.
  const parts = parameters.split(';');
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] ?? '';
    if (part.includes(':')) {
      const fields = part.split(':');
      if (fields[0] === '4') {
        flags = fields[1] === '0' ? flags & ~UNDERLINE : flags | UNDERLINE;
        continue;
      }
      const numbers = fields.map(toNumber);
      const colour = numbers[1] === 5 ? palette(numbers[2]) : rgb(numbers.slice(numbers.length > 5 ? 3 : 2));
      if (colour === null) continue;
      if (numbers[0] === 38) fg = colour;
      else if (numbers[0] === 48) bg = colour;
      continue;
    }
    const code = toNumber(part);
    if (code === 0) [fg, bg, flags] = [DEFAULT, DEFAULT, 0];
    else if (code === 1) flags |= BOLD;
    else if (code === 2) flags |= DIM;
    else if (code === 3) flags |= ITALIC;
    else if (code === 4 || code === 21) flags |= UNDERLINE;
    else if (code === 7) flags |= INVERSE;
    else if (code === 9) flags |= STRIKE;
    else if (code === 22) flags &= ~(BOLD | DIM);
    else if (code === 23) flags &= ~ITALIC;
    else if (code === 24) flags &= ~UNDERLINE;
    else if (code === 27) flags &= ~INVERSE;
    else if (code === 29) flags &= ~STRIKE;
    else if (code >= 30 && code <= 37) fg = code - 30;
    else if (code === 39) fg = DEFAULT;
    else if (code >= 40 && code <= 47) bg = code - 40;
    else if (code === 49) bg = DEFAULT;
    else if (code >= 90 && code <= 97) fg = code - 82;
    else if (code >= 100 && code <= 107) bg = code - 92;
    else if (code === 38 || code === 48) {
      const kind = toNumber(parts[i + 1] ?? '');
      const rest = parts.slice(i + 2, i + 5).map(toNumber);
      const colour = kind === 5 ? palette(rest[0]) : kind === 2 ? rgb(rest) : null;
      i += kind === 5 ? 2 : kind === 2 ? 4 : 1;
      if (colour === null) continue;
      if (code === 38) fg = colour;
      else bg = colour;
    }
  }
  if (fg === style.fg && bg === style.bg && flags === style.flags) return style;
  const next: Style = { fg, bg, flags, link: style.link };
  return isPlain(next) ? PLAIN : next;
}

/** Returns the style with a link, or without one. Only http and https become links. */
export function withLink(style: Style, target: string): Style {
  const link = target === '' ? null : webAddress(target);
  if (link === style.link) return style;
  const next: Style = { ...style, link };
  return isPlain(next) ? PLAIN : next;
}

/** Returns the address if it is http or https, and null otherwise. */
export function webAddress(target: string): string | null {
  if (!/^https?:\/\//i.test(target) || target.length > 4096) return null;
  try {
    const url = new URL(target);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null;
  } catch {
    return null;
  }
}

/** Returns CSS for a colour: the sixteen of the theme, the cube and the greys of the palette, or RGB. */
export function cssColour(colour: number): string {
  if (colour >= RGB) return `#${(colour & 0xffffff).toString(16).padStart(6, '0')}`;
  if (colour < 16) return `var(--ansi-${colour})`;
  if (colour >= 232) {
    const grey = 8 + (colour - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const level = (n: number): number => (n === 0 ? 0 : 55 + n * 40);
  const cube = colour - 16;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}

function toNumber(text: string): number {
  if (text === '') return 0;
  const value = Number(text);
  return Number.isInteger(value) ? value : -1;
}

function palette(index: number | undefined): number | null {
  return index !== undefined && index >= 0 && index <= 255 ? index : null;
}

function rgb(parts: number[]): number | null {
  const [r, g, b] = parts;
  if (r === undefined || g === undefined || b === undefined) return null;
  if (![r, g, b].every((n) => n >= 0 && n <= 255)) return null;
  return RGB | (r << 16) | (g << 8) | b;
}
