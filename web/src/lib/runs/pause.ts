// Giving way to the browser while there is much to do.

/** Resolves after the browser had a chance to draw and to handle input. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    // Timers are clamped to 4 ms and more; a message is not.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
