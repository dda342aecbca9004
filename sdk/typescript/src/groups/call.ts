// What every method of a group takes last.

export interface Call {
  signal?: AbortSignal;
}

export interface KeyedCall extends Call {
  /** Requests with the same key have one effect. A new key if absent. */
  idempotencyKey?: string;
}
