// Files of a workspace, and whole trees of them.
import { watchFiles, type WatchOptions } from '../follow.js';
import { route, type Http, type RawBody } from '../http.js';
import type { Call } from './call.js';
import type * as t from '../types.js';

export interface WriteOptions extends Call {
  /** Write only if the file is in this state (its `etag`; `*`: any). Otherwise `ApiError` with the code `changed`. */
  ifMatch?: string;
  /** Write only if nothing exists at the path. Otherwise `ApiError` with the status 409. */
  create?: boolean;
  append?: boolean;
  offset?: number;
  /** The mode, such as `755`. */
  permissions?: string;
}

export class Files {
  constructor(private readonly http: Http) {}

  list(session: string, query?: t.Query<'listFiles'>, call?: Call): Promise<t.FilePage> {
    return this.http.request('GET', route`/v1/sessions/${session}/files`, { query, ...call });
  }
  stat(session: string, path: string, call?: Call): Promise<t.FileEntry> {
    return this.http.request('GET', route`/v1/sessions/${session}/files/stat`, { query: { path }, ...call });
  }
  /** The content of a file as a response, with the header `etag`. */
  content(session: string, path: string, call?: Call & { headers?: Record<string, string> }): Promise<Response> {
    return this.http.raw('GET', route`/v1/sessions/${session}/files/content`, { query: { path }, ...call });
  }
  /** The bytes of a file. */
  async read(session: string, path: string, call?: Call): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await (await this.content(session, path, call)).arrayBuffer());
  }
  async readText(session: string, path: string, call?: Call): Promise<string> {
    return (await this.content(session, path, call)).text();
  }
  /** Replaces a file atomically. Missing folders are created. */
  write(session: string, path: string, content: RawBody, options: WriteOptions = {}): Promise<t.FileEntry> {
    const { ifMatch, create, append, offset, permissions, signal } = options;
    return this.http.request('PUT', route`/v1/sessions/${session}/files/content`, {
      query: { path, mode: append ? 'append' : undefined, offset, permissions },
      headers: { 'If-Match': ifMatch, 'If-None-Match': create ? '*' : undefined },
      body: content,
      signal,
    });
  }
  mkdir(session: string, path: string, call?: Call): Promise<t.FileEntry> {
    return this.http.request('POST', route`/v1/sessions/${session}/files/folders`, { body: { path }, ...call });
  }
  move(session: string, from: string, to: string, call?: Call & { overwrite?: boolean }): Promise<t.FileEntry> {
    const { overwrite, ...rest } = call ?? {};
    return this.http.request('POST', route`/v1/sessions/${session}/files/move`, {
      body: { from, to, overwrite },
      ...rest,
    });
  }
  copy(
    session: string,
    from: string,
    to: string,
    call?: Call & { overwrite?: boolean },
  ): Promise<t.Schemas['CopiedFile']> {
    const { overwrite, ...rest } = call ?? {};
    return this.http.request('POST', route`/v1/sessions/${session}/files/copy`, {
      body: { from, to, overwrite },
      ...rest,
    });
  }
  chmod(session: string, path: string, mode: string, call?: Call): Promise<t.FileEntry> {
    return this.http.request('POST', route`/v1/sessions/${session}/files/chmod`, { body: { path, mode }, ...call });
  }
  remove(session: string, path: string, call?: Call & { recursive?: boolean }): Promise<void> {
    const { recursive, ...rest } = call ?? {};
    return this.http.request('DELETE', route`/v1/sessions/${session}/files`, { query: { path, recursive }, ...rest });
  }
  search(session: string, query: t.Query<'searchFiles'>, call?: Call): Promise<t.SearchResult> {
    return this.http.request('GET', route`/v1/sessions/${session}/files/search`, { query, ...call });
  }
  diff(session: string, query?: t.Query<'diffFiles'>, call?: Call): Promise<t.FileDiff> {
    return this.http.request('GET', route`/v1/sessions/${session}/files/diff`, { query, ...call });
  }
  watch(session: string, options?: WatchOptions): AsyncGenerator<t.FileChange, void> {
    return watchFiles(this.http, session, options);
  }
  /** Downloads a folder as an archive. */
  archive(session: string, query?: t.Query<'downloadArchive'>, call?: Call): Promise<Response> {
    return this.http.raw('GET', route`/v1/sessions/${session}/files/archive`, { query, ...call });
  }
  /** Unpacks an archive into a folder: all of it, or nothing. */
  unpack(
    session: string,
    archive: RawBody,
    query?: t.Query<'unpackArchive'>,
    call?: Call,
  ): Promise<t.Schemas['UnpackedArchive']> {
    return this.http.request('PUT', route`/v1/sessions/${session}/files/archive`, { query, body: archive, ...call });
  }
}
