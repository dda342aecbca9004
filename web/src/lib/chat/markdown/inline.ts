// Markdown to tokens, which components show as elements: no HTML is ever made from the text. Mathematics is added to what
// `marked` knows.
import { Marked, type MarkedExtension, type Token, type Tokens } from 'marked';

export type { Token, Tokens };

/** A formula; `isDisplay` if it stands alone. */
export interface MathToken {
  type: 'math';
  raw: string;
  text: string;
  isDisplay: boolean;
}

/** Longer blocks are shown as they are: nobody reads them as Markdown, and parsing them could take long. */
export const MAX_BLOCK = 64 * 1024;

const DISPLAY = /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])/;
// A dollar is money unless the text inside touches both signs and no digit follows.
const INLINE = /^(?:\\\(([^\n]+?)\\\)|\$(?![\s$])([^$\n]*?[^\s$\\])\$(?!\d))/;

function formula(pattern: RegExp, source: string, isDisplay: boolean): MathToken | undefined {
  const found = pattern.exec(source);
  const text = found?.[1] ?? found?.[2];
  return found && text !== undefined ? { type: 'math', raw: found[0], text: text.trim(), isDisplay } : undefined;
}

const mathematics: MarkedExtension = {
  extensions: [
    {
      name: 'math',
      level: 'inline',
      start: (source) => {
        const at = source.search(/\$|\\[([]/);
        return at < 0 ? undefined : at;
      },
      tokenizer: (source) => formula(DISPLAY, source, true) ?? formula(INLINE, source, false),
    },
  ],
};

const marked = new Marked({ gfm: true }, mathematics);

/** The tokens of a block of Markdown. */
export function parse(text: string): Token[] {
  if (text.length > MAX_BLOCK) return [{ type: 'plain', raw: text, text } as Token];
  return marked.lexer(text);
}

const NAMED: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  times: '×',
  rarr: '→',
  larr: '←',
};

/** Replaces character references, which `marked` leaves to the browser. */
export function decode(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi,
    (whole, decimal, hex, name: string | undefined) => {
      if (name !== undefined) return NAMED[name] ?? whole;
      const code = decimal !== undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
        ? String.fromCodePoint(code)
        : '\ufffd';
    },
  );
}

/** The address of a link if it may be opened: to the web or to a mailbox, nothing else. */
export function safeHref(href: string): string | null {
  // Browsers skip control characters and spaces in an address, so that `java\nscript:` would be one.
  const text = decode(href).replace(/[\x00-\x20\x7f]/g, '');
  if (!/^(?:https?:\/\/|mailto:)/i.test(text)) return null;
  try {
    const url = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
