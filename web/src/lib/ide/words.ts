// Splits what people type as arguments and variables into lists, by the quoting rules of a shell, without expanding
// anything.

/** Splits a line into words. An open quote is closed by the end of the line. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  for (let index = 0; index < line.length; index += 1) {
    const character = line.charAt(index);
    if (quote !== null) {
      if (character === quote) quote = null;
      else if (character === '\\' && quote === '"' && /["\\$`]/.test(line.charAt(index + 1))) {
        index += 1;
        word = (word ?? '') + line.charAt(index);
      } else word = (word ?? '') + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (character === '\\' && index + 1 < line.length) {
      index += 1;
      word = (word ?? '') + line.charAt(index);
    } else if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + character;
  }
  if (word !== null) words.push(word);
  return words;
}

/** Reads `NAME=value` lines. Lines without a valid name are returned as `invalid`. */
export function parseVariables(text: string): { env: Record<string, string>; invalid: string[] } {
  const env: Record<string, string> = {};
  const invalid: string[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue;
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (match?.[1] === undefined) invalid.push(line.trim());
    else env[match[1]] = (match[2] ?? '').replace(/^(["'])(.*)\1$/, '$2');
  }
  return { env, invalid };
}
