// Parts of the app that are loaded when they are first shown, and a server that is away at that moment.
import { strings } from '../strings/en';
import { toast } from '../ui';

/** Offers to load the page again when a part of it could not be loaded: browsers do not try a second time. */
export function watchParts(): () => void {
  let isShown = false;
  const failed = (): void => {
    if (isShown) return;
    isShown = true;
    const { part, reload } = strings.errors;
    toast.error(part, { duration: Infinity, action: { label: reload, onclick: () => location.reload() } });
  };
  addEventListener('vite:preloadError', failed);
  return () => removeEventListener('vite:preloadError', failed);
}
