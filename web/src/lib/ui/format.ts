// How the app writes durations, sizes and times. Pure functions.

/** `0.4 s`, `12.4 s`, `3 m 05 s`, `2 h 04 m`, `340 ms`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (minutes < 60) return `${minutes} m ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${two(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** `512 B`, `1.2 MiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return `${Math.round(value)} B`;
  return `${value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** A number with separators: `12,345`. */
export function count(value: number): string {
  return new Intl.NumberFormat('en').format(value);
}

/** `just now`, `3 min ago`, `2 h ago`, `5 d ago`, `in 3 min`; a date beyond 30 days. */
export function relative(at: string | number | Date, now: number = Date.now()): string {
  const then = new Date(at).getTime();
  if (Number.isNaN(then)) return '';
  const seconds = Math.round((now - then) / 1000);
  const size = Math.abs(seconds);
  const say = (value: number, unit: string): string => (seconds >= 0 ? `${value} ${unit} ago` : `in ${value} ${unit}`);
  if (size < 10) return 'just now';
  if (size < 60) return say(size, 's');
  if (size < 3600) return say(Math.floor(size / 60), 'min');
  if (size < 86_400) return say(Math.floor(size / 3600), 'h');
  if (size < 30 * 86_400) return say(Math.floor(size / 86_400), 'd');
  return new Date(then).toISOString().slice(0, 10);
}

/** The exact local time with its zone, for titles: `2026-01-02 03:04:05.678 +01:00`. */
export function exact(at: string | number | Date): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const offset = -date.getTimezoneOffset();
  const local = new Date(date.getTime() + offset * 60_000).toISOString();
  const two = (value: number): string => String(value).padStart(2, '0');
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
  return `${local.slice(0, 10)} ${local.slice(11, 23)} ${zone}`;
}

/** The start of an id, enough to recognise it: `exe_01234567`. */
export function shortId(id: string): string {
  return id.length > 14 ? id.slice(0, 12) : id;
}
