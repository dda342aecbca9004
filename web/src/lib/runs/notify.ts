// "Notify me when this ends": by the browser if it is allowed, otherwise by a message in the page.
import { navigate } from '../router.svelte';
import { runs as words } from '../strings/runs';
import { toast } from '../ui';

/** Asks for permission. Returns whether the browser will show notifications. */
export async function askToNotify(): Promise<boolean> {
  if (!('Notification' in window)) return false;
  if (Notification.permission === 'default') await Notification.requestPermission();
  return Notification.permission === 'granted';
}

export function notifyEnd(id: string, command: string, how: string, isFailure: boolean): void {
  if ('Notification' in window && Notification.permission === 'granted') {
    const notification = new Notification(how, { body: command.slice(0, 200), tag: id });
    notification.onclick = () => {
      window.focus();
      navigate(`/executions/${id}`);
      notification.close();
    };
    return;
  }
  const options = { description: command.slice(0, 200), duration: 30_000 };
  if (isFailure) toast.error(`${words.page.notifyTitle}: ${how}`, options);
  else toast.success(`${words.page.notifyTitle}: ${how}`, options);
}
