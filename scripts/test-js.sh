#!/usr/bin/env bash
# Tests the real binary with common clients: npm's eventsource and ws, and the README's curl examples.
set -euo pipefail
cd "$(dirname "$0")/../tests/js"
HEADWATER_BIN=${HEADWATER_BIN:-$(ls ../../target/*/debug/headwater)}
export HEADWATER_BIN
npm ci --no-progress --loglevel=error >/dev/null
npm test
