// The errors of this library: what the server refused, and what never reached it.

/** The server refused a request. Decide by `code`; `message` and `hint` are for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | undefined = undefined,
    readonly requestId: string | undefined = undefined,
    /** How long the server asks to wait before the next attempt. */
    readonly retryAfterMs: number | undefined = undefined,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    return this.status >= 500 ? this.status !== 507 : this.status === 429;
  }

  /** Reads the error from a response that is not a success. */
  static async from(response: Response): Promise<ApiError> {
    const text = await response.text().catch(() => '');
    const { code, message, hint, request_id } = detail(text);
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new ApiError(
      response.status,
      code ?? 'unknown',
      message ?? `The server returned status ${response.status}.`,
      hint ?? undefined,
      request_id ?? response.headers.get('x-request-id') ?? undefined,
      Number.isFinite(seconds) ? seconds * 1000 : undefined,
    );
  }
}

/** No response: the server could not be reached, or the connection broke. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

interface Detail {
  code?: string;
  message?: string;
  hint?: string | null;
  request_id?: string | null;
}

function detail(text: string): Detail {
  try {
    const body = JSON.parse(text) as { error?: Detail } | null;
    return body?.error ?? {};
  } catch {
    return {};
  }
}

/** Whether a request that failed with this error may be sent again. */
export function isTransient(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.isTransient);
}
