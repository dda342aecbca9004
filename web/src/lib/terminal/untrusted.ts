// Text that programs print and that the page shows outside the terminal's cells: titles, links, command lines. It is only
// ever inserted as text; here it also loses what would mislead a reader.

const MAX_TITLE = 120;

/** Control characters, and marks that change the direction of the text around them or are invisible. */

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** A title as one short line without control characters. */
export function cleanTitle(title: string): string {
  const clean = title.replace(/\s+/g, ' ').replace(HIDDEN, '').trim();
  const letters = Array.from(clean);
  return letters.length > MAX_TITLE ? `${letters.slice(0, MAX_TITLE - 1).join('')}…` : clean;
}

/** The address of a link, if it may be opened: http and https, without a user name that imitates a host. */
export function safeLink(address: string): string | undefined {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return undefined;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  return url.username === '' && url.password === '' ? url.href : undefined;
}

/** Opens a link of a program in a new tab that knows nothing of this page. */
export function openLink(address: string): void {
  const safe = safeLink(address);
  if (safe !== undefined) window.open(safe, '_blank', 'noopener,noreferrer');
}

/** Pasted text without control characters: an escape in it could end a bracketed paste and run what follows. */
export function cleanPaste(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(/[\u0000-\u0008\u000b-\u000c\u000e-\u001f\u007f-\u009f]/g, '');
}
