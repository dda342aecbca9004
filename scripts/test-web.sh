#!/usr/bin/env bash
# Tests the web app in Debian's Chromium, against the real binary. Arguments go to Playwright: scripts/test-web.sh home
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build-web.sh
HEADWATER_BIN=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/debug/headwater | head -n 1)}")
export HEADWATER_BIN
cd web
npm run --silent e2e -- "$@"
