// Writing to the clipboard, also where the page is not a secure context (plain HTTP on another host).

/** Copies a text. Throws if the browser refuses. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard && isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed';
  area.style.opacity = '0';
  const focused = document.activeElement;
  // Inside of an open dialog everything else is inert.
  (focused?.closest('dialog') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!isCopied) throw new Error('The browser refused to copy.');
}
