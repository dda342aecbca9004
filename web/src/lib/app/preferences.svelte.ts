// Choices of the person at this browser: theme, sizes, keys. Applied to the document as soon as they change.
import { loadJson, saveJson } from './storage';

export type ThemeChoice = 'system' | 'light' | 'dark';
export type UiSize = 'small' | 'normal' | 'large';

interface Stored {
  theme: ThemeChoice;
  uiSize: UiSize;
  codeSize: number;
  singleKeys: boolean;
  wrap: boolean;
}

const defaults: Stored = { theme: 'system', uiSize: 'normal', codeSize: 13, singleKeys: true, wrap: true };
export const CODE_SIZES = [11, 12, 13, 14, 15, 16, 18, 20] as const;
const UI_SIZES: Record<UiSize, string> = { small: '14.5px', normal: '16px', large: '18px' };
const dark = matchMedia('(prefers-color-scheme: dark)');

function isStored(value: unknown): value is Partial<Stored> {
  return typeof value === 'object' && value !== null;
}

/** Fills in what is missing or not valid. */
export function sanitize(value: Partial<Stored>): Stored {
  const { theme, uiSize, codeSize, singleKeys, wrap } = value;
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    uiSize: uiSize === 'small' || uiSize === 'large' ? uiSize : 'normal',
    codeSize: CODE_SIZES.some((size) => size === codeSize) && codeSize !== undefined ? codeSize : defaults.codeSize,
    singleKeys: singleKeys !== false,
    wrap: wrap !== false,
  };
}

class Preferences {
  #stored = $state.raw<Stored>(sanitize(loadJson('preferences', isStored) ?? {}));
  #systemIsDark = $state(dark.matches);
  /** The theme that is shown. */
  readonly shownTheme: 'light' | 'dark' = $derived.by(() => {
    if (this.#stored.theme === 'system') return this.#systemIsDark ? 'dark' : 'light';
    return this.#stored.theme;
  });

  get theme(): ThemeChoice {
    return this.#stored.theme;
  }
  get uiSize(): UiSize {
    return this.#stored.uiSize;
  }
  /** The size of code, output and terminals, in pixels. */
  get codeSize(): number {
    return this.#stored.codeSize;
  }
  get singleKeys(): boolean {
    return this.#stored.singleKeys;
  }
  /** Whether output wraps long lines at first. */
  get wrap(): boolean {
    return this.#stored.wrap;
  }

  set(changes: Partial<Stored>): void {
    this.#stored = sanitize({ ...this.#stored, ...changes });
    saveJson('preferences', this.#stored);
    this.apply();
  }

  /** Writes the choices into the document. */
  apply(): void {
    const root = document.documentElement;
    root.dataset['theme'] = this.shownTheme;
    root.style.setProperty('--ui-size', UI_SIZES[this.#stored.uiSize]);
    root.style.setProperty('--code-size', `${this.#stored.codeSize}px`);
  }

  /** Follows the system and other tabs. Returns a function that stops. */
  start(): () => void {
    this.apply();
    const changed = (): void => {
      this.#systemIsDark = dark.matches;
      this.apply();
    };
    const stored = (event: StorageEvent): void => {
      if (event.key !== 'headwater.preferences') return;
      this.#stored = sanitize(loadJson('preferences', isStored) ?? {});
      this.apply();
    };
    dark.addEventListener('change', changed);
    addEventListener('storage', stored);
    return () => {
      dark.removeEventListener('change', changed);
      removeEventListener('storage', stored);
    };
  }
}

export const preferences = new Preferences();
