// Turns whatever was thrown into words for people.
import { ApiError, ConnectionError } from 'headwater';
import { strings } from '../strings/en';

export interface Explained {
  message: string;
  hint?: string | undefined;
  requestId?: string | undefined;
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?`]$/.test(first) ? first : `${first}.`;
}

export function explain(error: unknown): Explained {
  if (error instanceof ApiError) {
    return {
      message: sentence(error.message),
      hint: error.hint ? sentence(error.hint) : undefined,
      requestId: error.requestId,
    };
  }
  if (error instanceof ConnectionError || error instanceof TypeError) return { message: strings.ui.noAnswer };
  return { message: error instanceof Error ? sentence(error.message) : String(error) };
}
