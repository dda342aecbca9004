// Small values that the browser keeps. Storage may be full or forbidden; then nothing is kept and nothing breaks.

export function loadItem(key: string): string | null {
  try {
    return localStorage.getItem(`headwater.${key}`);
  } catch {
    return null;
  }
}

export function saveItem(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`headwater.${key}`);
    else localStorage.setItem(`headwater.${key}`, value);
  } catch {
    // The value lives as long as the page.
  }
}

/** Loads JSON; returns null if there is none or `isValid` refuses it. */
export function loadJson<T>(key: string, isValid: (value: unknown) => value is T): T | null {
  const text = loadItem(key);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isValid(value) ? value : null;
  } catch {
    return null;
  }
}

export function saveJson(key: string, value: unknown): void {
  saveItem(key, JSON.stringify(value));
}
