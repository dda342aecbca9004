// The settings as the page shows them: values as text, the filter, and which ones were changed.
import type { Setting } from 'headwater';
import { strings } from '../strings/en';

const words = strings.admin.configuration;

/** A value as people read it: without quotes around texts, lists with commas. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return words.notSet;
  if (typeof value === 'string') return value === '' ? words.empty : value;
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? words.empty : value.map(shownValue).join(', ');
  return Object.keys(value).length === 0 ? words.empty : JSON.stringify(value);
}

/** Whether a value is a word of the page and not of the configuration. */
export function isAbsent(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

export function sourceWord(source: string): string {
  const known: Record<string, string> = words.sources;
  return known[source] ?? source;
}

/** Whether somebody set it, or the running worker has another value. */
export function isChanged(setting: Setting): boolean {
  return setting.source !== 'default' || hasOther(setting);
}

/** Whether the running worker was started with another value. */
export function hasOther(setting: Setting): boolean {
  return setting.running !== undefined;
}

/** The settings in which each word of the text occurs: in the name, the value or the source. */
export function filterSettings(settings: readonly Setting[], text: string, onlyChanged: boolean): Setting[] {
  const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter((setting) => {
    if (onlyChanged && !isChanged(setting)) return false;
    const all = [setting.key, shownValue(setting.value), sourceWord(setting.source)];
    if (hasOther(setting)) all.push(shownValue(setting.running));
    const searched = all.join('\n').toLowerCase();
    return parts.every((part) => searched.includes(part));
  });
}
