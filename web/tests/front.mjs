// Serves `dist` and forwards everything else to a server: for tests with a binary that has no app embedded.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

// HEADWATER_DIST: another folder, for people who build at the same time.
const dist = process.env.HEADWATER_DIST ?? fileURLToPath(new URL('../dist/', import.meta.url));
const SERVED = /^\/(v1|login|docs|openapi\.json|oauth|readyz|healthz|metrics|mcp|tool-progress|\.well-known)([/?]|$)/;
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.json': 'application/json',
};
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "frame-src 'self' http: https:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

async function fileOf(url) {
  const path = normalize(decodeURIComponent(new URL(url, 'http://x').pathname));
  const file = join(dist, path);
  const isFile = extname(path) !== '' && (await stat(file).catch(() => null))?.isFile();
  return isFile ? file : path.startsWith('/assets/') ? null : join(dist, 'index.html');
}

/** Starts it on a free port of the loopback address. `target()` is the address of the server, which may change. */
export async function startFront(target, policy = POLICY) {
  const headersFor = (incoming) => {
    const { origin } = new URL(target());
    const headers = { ...incoming.headers, host: new URL(target()).host };
    if (headers.origin) headers.origin = origin;
    if (headers.referer) headers.referer = `${origin}/`;
    return headers;
  };
  const server = createServer(async (incoming, outgoing) => {
    if (!SERVED.test(incoming.url)) {
      const file = await fileOf(incoming.url);
      if (!file) return void outgoing.writeHead(404).end();
      outgoing.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        'content-security-policy': policy,
        'cache-control': 'no-cache',
      });
      return void createReadStream(file).pipe(outgoing);
    }
    const { hostname, port } = new URL(target());
    const forwarded = request(
      { hostname, port, path: incoming.url, method: incoming.method, headers: headersFor(incoming) },
      (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers);
        outgoing.flushHeaders();
        answer.pipe(outgoing);
        // A broken connection must look broken to the page.
        answer.on('error', () => outgoing.destroy());
        answer.on('aborted', () => outgoing.destroy());
      },
    );
    forwarded.setNoDelay(true);
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  server.on('upgrade', (incoming, socket, head) => {
    const { hostname, port } = new URL(target());
    const forwarded = connect(Number(port), hostname, () => {
      const lines = Object.entries(headersFor(incoming)).map(([name, value]) => `${name}: ${value}`);
      forwarded.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      forwarded.write(head);
      forwarded.pipe(socket);
      socket.pipe(forwarded);
    });
    forwarded.setNoDelay(true);
    socket.setNoDelay(true);
    for (const [one, other] of [
      [forwarded, socket],
      [socket, forwarded],
    ]) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.on('connection', (socket) => socket.setNoDelay(true));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
