// The types of front.mjs.
export function startFront(target: () => string): Promise<{ url: string; close(): Promise<void> }>;
