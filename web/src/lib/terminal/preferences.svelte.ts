// What a user chose for all terminals in this browser: the size of the text and the renderer.

import { preferences as app } from '$lib/app/preferences.svelte';
import { loadJson, saveJson } from '$lib/app/storage';

const KEY = 'terminal';
const SMALLEST = 8;
const LARGEST = 32;

export type Renderer = 'auto' | 'dom';

interface Stored {
  /** The size of the text, if it differs from that of other code. */
  fontSize?: number;
  renderer?: Renderer;
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== 'object' || value === null) return false;
  const { fontSize, renderer } = value as Record<string, unknown>;
  return (
    (fontSize === undefined || typeof fontSize === 'number') && (renderer === undefined || typeof renderer === 'string')
  );
}

class Preferences {
  #stored = $state.raw<Stored>(loadJson(KEY, isStored) ?? {});

  get fontSize(): number {
    return this.#stored.fontSize ?? app.codeSize;
  }

  /** Makes the text larger or smaller by this many pixels. */
  zoom(by: number): void {
    this.#set({ fontSize: Math.min(LARGEST, Math.max(SMALLEST, this.fontSize + by)) });
  }

  resetZoom(): void {
    this.#set({ fontSize: undefined });
  }

  /** `dom` if drawing with WebGL is not wanted. */
  get renderer(): Renderer {
    return this.#stored.renderer === 'dom' ? 'dom' : 'auto';
  }

  #set(changes: { fontSize: number | undefined }): void {
    const { renderer } = this.#stored;
    this.#stored = {
      ...(renderer && { renderer }),
      ...(changes.fontSize !== undefined && { fontSize: changes.fontSize }),
    };
    saveJson(KEY, this.#stored);
  }
}

export const preferences = new Preferences();
