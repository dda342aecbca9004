// Repeats a request while somebody looks: it pauses while the page is hidden, and never runs twice at once.

/** Calls `work` now and then `everyMs` after it has ended. Returns a function that stops. Errors are left to `work`. */
export function pollWhileVisible(everyMs: number, work: (signal: AbortSignal) => Promise<void>): () => void {
  const stopped = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isBusy = false;

  async function run(): Promise<void> {
    if (isBusy || stopped.signal.aborted || document.hidden) return;
    isBusy = true;
    try {
      await work(stopped.signal);
    } finally {
      isBusy = false;
      clearTimeout(timer);
      if (!stopped.signal.aborted && !document.hidden) timer = setTimeout(start, everyMs);
    }
  }

  function start(): void {
    // `work` reports its own errors; one that escapes must not end the repetition.
    run().catch(() => undefined);
  }

  function onVisibility(): void {
    if (document.hidden) clearTimeout(timer);
    else start();
  }

  document.addEventListener('visibilitychange', onVisibility);
  start();
  return () => {
    stopped.abort();
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisibility);
  };
}
