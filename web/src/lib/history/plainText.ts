// Text without what only a terminal understands, so that two outputs can be compared and shown as lines.

const ESCAPES =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Removes escape sequences and control characters; of a line that was overwritten by `\r` the last text stays. */
export function plainText(text: string): string {
  return text
    .replace(ESCAPES, '')
    .split('\n')
    .map((line) => afterReturns(line).replace(CONTROLS, ''))
    .join('\n');
}

/** What a progress bar shows at its end: the text after the last carriage return that is followed by any. */
function afterReturns(line: string): string {
  if (!line.includes('\r')) return line;
  const parts = line.split('\r').filter((part) => part !== '');
  return parts[parts.length - 1] ?? '';
}
