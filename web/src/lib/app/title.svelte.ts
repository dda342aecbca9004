// The title of the document and its icon, which shows whether something runs.
import { strings } from '../strings/en';

/** Sets the title: `setTitle('main.py', 'my session')` gives `main.py · my session · Headwater`. */
export function setTitle(...parts: (string | null | undefined)[]): void {
  document.title = [...parts.filter(Boolean), strings.product].join(' · ');
}

/** Shows in the icon of the tab whether something runs. */
export function setFavicon(isRunning: boolean): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const href = isRunning ? '/favicon-running.svg' : '/favicon.svg';
  if (link && link.getAttribute('href') !== href) link.setAttribute('href', href);
}
