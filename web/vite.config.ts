// How the app is built and served in development. The proxy lets `npm run dev` use a real server.
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { ProxyOptions } from 'vite';
import { defineConfig } from 'vitest/config';

const target = process.env['HEADWATER_URL'] ?? 'http://localhost:8080';
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** A proxy to the server. The server refuses a cookie from a foreign origin, so the origin is rewritten too. */
function proxy(options: ProxyOptions = {}): ProxyOptions {
  return {
    target,
    changeOrigin: true,
    ws: true,
    configure(server) {
      const origin = new URL(target).origin;
      server.on('proxyReq', (request) => {
        if (request.getHeader('origin') !== undefined) request.setHeader('origin', origin);
      });
      server.on('proxyReqWs', (request) => request.setHeader('origin', origin));
    },
    ...options,
  };
}

const proxied: Record<string, ProxyOptions> = {
  '/api': proxy({ rewrite: (url) => url.replace(/^\/api/, '/v1') }),
  '/v1': proxy(),
  '/login': proxy(),
  '/docs': proxy(),
  '/openapi.json': proxy(),
  '/oauth': proxy(),
  '/readyz': proxy(),
  '/metrics': proxy(),
};

export default defineConfig({
  plugins: [svelte()],
  resolve: {
    alias: {
      $lib: path('./src/lib'),
      headwater: path('../sdk/typescript/src/index.ts'),
    },
  },
  server: { port: 5173, strictPort: true, proxy: proxied, fs: { allow: [path('.'), path('../sdk/typescript')] } },
  preview: { port: 4173, proxy: proxied },
  worker: { format: 'es' },
  build: {
    target: 'es2022',
    outDir: 'dist',
    // The policy of the server allows no `data:` fonts or scripts.
    assetsInlineLimit: 0,
    manifest: true,
    chunkSizeWarningLimit: 8000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Heavy parts get chunks of their own. They are imported with `import()` only; `npm run report` checks it.
          // Monaco needs no group: its modules import each other in circles, which chunks of a group cut in an order that
          // does not start; its languages are chunks of their own already.
          groups: [{ name: 'xterm', test: /node_modules[\\/]@xterm/ }],
        },
      },
    },
  },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.ts'],
    maxWorkers: 2,
  },
});
