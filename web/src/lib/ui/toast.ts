// Short messages at the edge of the window, for what happened elsewhere.
import { toast as sonner } from 'svelte-sonner';
import { strings } from '../strings/en';
import { explain } from './errors';

export interface ToastOptions {
  description?: string;
  action?: { label: string; onclick: () => void };
  /** How long it stays, in milliseconds. */
  duration?: number;
}

function options(given: ToastOptions): Record<string, unknown> {
  const { action, ...rest } = given;
  return action ? { ...rest, action: { label: action.label, onClick: action.onclick } } : rest;
}

export const toast = {
  info: (message: string, given: ToastOptions = {}): string | number => sonner.info(message, options(given)),
  success: (message: string, given: ToastOptions = {}): string | number => sonner.success(message, options(given)),
  /** Shows an error; `message` may be whatever was thrown. */
  error(message: unknown, given: ToastOptions = {}): string | number {
    if (typeof message === 'string') return sonner.error(message, options({ duration: 8000, ...given }));
    const { message: text, hint } = explain(message);
    return sonner.error(text, options({ duration: 8000, ...(hint ? { description: hint } : {}), ...given }));
  },
  dismiss: (id: string | number): void => void sonner.dismiss(id),
};

/** Says what was done and offers to undo it. */
export function undoToast(message: string, undo: () => void | Promise<void>, duration = 8000): string | number {
  return sonner(message, {
    duration,
    action: {
      label: strings.ui.undo,
      onClick: () => void Promise.resolve(undo()).catch((error: unknown) => toast.error(error)),
    },
  });
}
