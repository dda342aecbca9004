// The public interface of the package.
export * from './attach.js';
export * from './bytes.js';
export * from './client.js';
export * from './editor.js';
export * from './errors.js';
export * from './follow.js';
export * from './frames.js';
export { Http, newKey, route } from './http.js';
export type { HeadwaterOptions, RawBody, RequestOptions } from './http.js';
export * from './paths.js';
export { SseParser, type SseMessage } from './sse.js';
export { Retry, sleep, type RetryOptions } from './retry.js';
export { resumeStream, type ConnectionState, type StreamOptions } from './stream.js';
export type * from './types.js';
export type * from './groups/index.js';
