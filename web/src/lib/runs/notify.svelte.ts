// "Notify me when this ends": by the browser if it is allowed, otherwise by a message in the page. It goes on when the
// page of the execution is left, as long as the app is open.
import { isTransient, type Headwater } from 'headwater';
import { SvelteMap } from 'svelte/reactivity';
import { navigate } from '../router.svelte';
import { runs as words } from '../strings/runs';
import { toast } from '../ui';
import { endWords, isSuccess } from './words';

/** How long to wait after an error. */
const PAUSE_MS = 2000;
const watched = new SvelteMap<string, AbortController>();

/** Whether the end of an execution is going to be told. */
export function isWatched(id: string): boolean {
  return watched.has(id);
}

/** Asks for permission. Returns whether the browser will show notifications. */
export async function askToNotify(): Promise<boolean> {
  if (!('Notification' in window)) return false;
  if (Notification.permission === 'default') await Notification.requestPermission();
  return Notification.permission === 'granted';
}

/** Tells when an execution has ended. */
export async function watchEnd(client: Headwater, id: string, command: string): Promise<void> {
  if (watched.has(id)) return;
  const stop = new AbortController();
  watched.set(id, stop);
  try {
    while (!stop.signal.aborted) {
      try {
        const { exit, duration_ms } = await client.executions.get(id, { wait: '30s' }, { signal: stop.signal });
        if (stop.signal.aborted) return;
        if (!exit) continue;
        return notifyEnd(id, command, endWords(exit, duration_ms ?? null), !isSuccess(exit));
      } catch (error) {
        // The server restarts or the network is away; the program runs on.
        if (stop.signal.aborted || !isTransient(error)) return;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  } finally {
    if (watched.get(id) === stop) watched.delete(id);
  }
}

export function forget(id: string): void {
  watched.get(id)?.abort();
  watched.delete(id);
}

function notifyEnd(id: string, command: string, how: string, isFailure: boolean): void {
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
