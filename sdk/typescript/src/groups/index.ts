// The groups of the client: one method for each route, typed by the OpenAPI document.
export * from './admin.js';
export type * from './call.js';
export * from './executions.js';
export * from './files.js';
export * from './sessions.js';
export * from './tools.js';
