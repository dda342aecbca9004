// The functions of a code editor: one call each, with the token first.
import { Headwater } from './client.js';
import { route } from './http.js';
import type { Build, DirectoryListing, ExecutionStatus, StartedExecution, TextFile, WrittenFile } from './types.js';

export interface CodeExecutionRequest {
  session_id: string;
  language: 'python' | 'cpp';
  code: string;
  file_path?: string;
  args?: string[];
}

export interface BuildRequest {
  session_id: string;
  source_files: string[];
  output_binary: string;
  compiler: 'g++' | 'clang++';
  flags?: string[];
}

export interface FileOperation {
  session_id: string;
  path: string;
  content?: string;
}

/** The server of these functions: '' is the origin of the page. */
let server = '';

/** Sets the address of the server for the functions of this file. Not needed in a page that the server serves. */
export function setServer(baseUrl: string): void {
  server = baseUrl;
}

function post<T>(token: string, path: string, body: object): Promise<T> {
  return new Headwater({ baseUrl: server, token }).request('POST', path, { body });
}

/** Runs Python code in a session. With `filePath` the code is saved there first. */
export function executePython(
  token: string,
  sessionId: string,
  code: string,
  filePath?: string,
  args?: string[],
): Promise<StartedExecution> {
  const body: CodeExecutionRequest = { session_id: sessionId, language: 'python', code };
  if (filePath !== undefined) body.file_path = filePath;
  if (args !== undefined) body.args = args;
  return post(token, '/v1/sessions/execute/python', body);
}

/** Compiles and links C++ files. Returns when the build has ended. */
export function buildCpp(
  token: string,
  sessionId: string,
  sourceFiles: string[],
  outputBinary: string,
  compiler: BuildRequest['compiler'] = 'g++',
  flags: string[] = [],
): Promise<Build> {
  const body: BuildRequest = {
    session_id: sessionId,
    source_files: sourceFiles,
    output_binary: outputBinary,
    compiler,
    flags,
  };
  return post(token, '/v1/sessions/build/cpp', body);
}

/** Runs a program of the workspace. */
export function executeBinary(
  token: string,
  sessionId: string,
  binaryPath: string,
  args: string[] = [],
): Promise<StartedExecution> {
  return post(token, '/v1/sessions/execute/binary', { session_id: sessionId, binary_path: binaryPath, args });
}

/** Writes or replaces a file; missing folders are created. */
export function saveFile(token: string, sessionId: string, path: string, content: string): Promise<WrittenFile> {
  const body: FileOperation = { session_id: sessionId, path, content };
  return post(token, '/v1/sessions/files/write', body);
}

export function readFile(token: string, sessionId: string, path: string): Promise<TextFile> {
  const body: FileOperation = { session_id: sessionId, path };
  return post(token, '/v1/sessions/files/read', body);
}

export function listFiles(token: string, sessionId: string, directory: string): Promise<DirectoryListing> {
  return post(token, '/v1/sessions/files/list', { session_id: sessionId, directory });
}

/** Opens the terminal of a session. The messages are JSON: send `command`, receive `output`, `prompt`, `exit`. */
export function createTerminalWebSocket(token: string, sessionId: string): WebSocket {
  const { http } = new Headwater({ baseUrl: server, token });
  return http.openSocket(route`/v1/sessions/${sessionId}/terminal`, { token: token || undefined });
}

/** The status of an execution, with its output so far. */
export function getExecutionStatus(token: string, executionId: string): Promise<ExecutionStatus> {
  const client = new Headwater({ baseUrl: server, token });
  return client.request('GET', route`/v1/sessions/executions/${executionId}`);
}
