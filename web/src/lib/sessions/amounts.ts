// Sizes and times as people write them: `512 MiB`, `1.5g`, `90s`, `2 h`; and limits as people read them.

import type { Limits } from 'headwater';
import { runs } from '$lib/strings/runs';
import { bytes, count, duration } from '$lib/ui';

/** The amount of a limit, by the unit in its name. */
export function limitText(name: string, value: number): string {
  if (name.endsWith('_bytes')) return bytes(value);
  if (name.endsWith('_ms')) return duration(value);
  return count(value);
}

/** All limits that are set: `Memory 1.0 GiB, Processes 90`. Empty if there are none. */
export function limitsText(limits: Limits): string {
  const set = Object.entries(limits).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
  return set.map(([name, value]) => `${runs.details.limit[name] ?? name} ${limitText(name, value)}`).join(', ');
}

const SIZES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
};

/** Bytes of a size in powers of 1024; `null` if the text is not a size. A number alone is in MiB. */
export function parseSize(text: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*([kmgtb]?)(?:i?b)?\s*$/i.exec(text);
  if (!found) return null;
  const unit = (found[2] ?? '').toLowerCase();
  const factor = unit === '' ? SIZES['m'] : SIZES[unit];
  const bytes = Math.round(Number(found[1]) * (factor ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : null;
}

const TIMES: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of a time; `null` if the text is not a time. A number alone is in minutes. */
export function parseTime(text: string): number | null {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)?\s*$/i.exec(text);
  if (!found) return null;
  const ms = Math.round(Number(found[1]) * (TIMES[(found[2] ?? 'm').toLowerCase()] ?? 1));
  return Number.isSafeInteger(ms) ? ms : null;
}
