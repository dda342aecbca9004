#!/usr/bin/env bash
# Builds the web app into web/dist, which the binary embeds, if something has changed since the last build. Without Node
# the binary is built without the app, and its page says so.
set -euo pipefail
cd "$(dirname "$0")/../web"

say() { printf 'web: %s\n' "$*" >&2; }
if ! command -v npm >/dev/null 2>&1; then
    say "npm is missing: the binary gets no web app"
    exit 0
fi
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    say "installing packages"
    npm ci --no-progress --no-audit --no-fund --loglevel=error >/dev/null
    touch node_modules/.package-lock.json
fi
built=dist/index.html
sources=(src public scripts index.html package.json vite.config.ts svelte.config.js ../sdk/typescript/src)
if [ -e "$built" ] && [ -z "$(find "${sources[@]}" -newer "$built" -print -quit)" ]; then
    exit 0
fi
say "building the app"
npm run --silent build
