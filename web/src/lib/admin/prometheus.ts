// Reads the text of `/metrics`: the Prometheus and OpenMetrics text formats, as far as the charts need them.

/** One value of a metric with its labels. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** All samples of one scrape, by the name of their metric. */
export type Scrape = ReadonlyMap<string, readonly Sample[]>;

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"/;

/** Parses a scrape. Comments, exemplars and lines that are not understood are left out. */
export function parseMetrics(text: string): Scrape {
  const found = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const sample = parseLine(line);
    if (!sample) continue;
    const list = found.get(sample.name);
    if (list) list.push(sample);
    else found.set(sample.name, [sample]);
  }
  return found;
}

function parseLine(line: string): Sample | null {
  if (line === '' || line.startsWith('#')) return null;
  const name = NAME.exec(line)?.[0];
  if (!name) return null;
  let rest = line.slice(name.length);
  let labels: Record<string, string> = {};
  if (rest.startsWith('{')) {
    const parsed = parseLabels(rest.slice(1));
    if (!parsed) return null;
    labels = parsed.labels;
    rest = parsed.rest;
  }
  const value = parseNumber(rest.trim().split(/\s+/)[0] ?? '');
  return value === null ? null : { name, labels, value };
}

function parseLabels(text: string): { labels: Record<string, string>; rest: string } | null {
  // Without a prototype: a label named `constructor` is a label like all others.
  const labels = Object.create(null) as Record<string, string>;
  let rest = text;
  for (;;) {
    const close = /^\s*,?\s*\}/.exec(rest);
    if (close) return { labels, rest: rest.slice(close[0].length) };
    const separator = /^\s*,/.exec(rest);
    if (separator) rest = rest.slice(separator[0].length);
    const name = LABEL.exec(rest);
    if (!name?.[1]) return null;
    const quoted = parseQuoted(rest.slice(name[0].length));
    if (!quoted) return null;
    labels[name[1]] = quoted.value;
    rest = quoted.rest;
  }
}

/** The text up to the closing quote, with its escapes (`\\`, `\"`, `\n`) resolved. */
function parseQuoted(text: string): { value: string; rest: string } | null {
  let value = '';
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '"') return { value, rest: text.slice(at + 1) };
    if (char !== '\\') {
      value += char;
      continue;
    }
    at += 1;
    const escaped = text.charAt(at);
    value += escaped === 'n' ? '\n' : escaped;
  }
  return null;
}

function parseNumber(text: string): number | null {
  if (/^[+]?Inf$/i.test(text)) return Infinity;
  if (/^-Inf$/i.test(text)) return -Infinity;
  if (/^NaN$/i.test(text)) return NaN;
  if (text === '') return null;
  const value = Number(text);
  return Number.isNaN(value) ? null : value;
}

/** The sum of all samples of a metric whose labels include `labels`; `null` if there is none. */
export function valueOf(scrape: Scrape, name: string, labels: Readonly<Record<string, string>> = {}): number | null {
  const wanted = Object.entries(labels);
  const matching = (scrape.get(name) ?? []).filter((sample) =>
    wanted.every(([label, value]) => sample.labels[label] === value),
  );
  if (matching.length === 0) return null;
  return matching.reduce((sum, sample) => sum + sample.value, 0);
}
