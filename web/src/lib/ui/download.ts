// Files that the server sends as attachments.

/** Starts a download by a link: the server sends files as attachments, so the page stays. */
export function download(url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = '';
  link.click();
}
