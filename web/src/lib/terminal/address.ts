// The address of a terminal's socket.

import type { Resume } from './position';

/** The size of a terminal in cells. */
export interface Size {
  rows: number;
  cols: number;
}

export interface SocketAddress {
  /** The server, as `http(s)://host[:port][/path]`. */
  base: string;
  session: string;
  name: string;
  size: Size;
  resume: Resume | undefined;
  readOnly: boolean;
}

/** The address by which a viewer opens or continues a terminal, with binary frames. */
export function socketAddress({ base, session, name, size, resume, readOnly }: SocketAddress): string {
  const path = `${base.replace(/\/+$/, '')}/v1/sessions/${encodeURIComponent(session)}/terminal`;
  const address = new URL(path);
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  const query = address.searchParams;
  query.set('name', name);
  query.set('frames', 'binary');
  query.set('rows', String(size.rows));
  query.set('cols', String(size.cols));
  if (readOnly) query.set('read_only', 'true');
  if (resume !== undefined) {
    query.set('execution_id', resume.executionId);
    query.set('after', String(resume.after));
    if (resume.skip > 0) query.set('skip', String(resume.skip));
  }
  return address.href;
}

/** Whether a name is valid for a terminal. */
export function isTerminalName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(name);
}
