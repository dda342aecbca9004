#!/usr/bin/env bash
# Tests the real binary with common clients: npm's eventsource, ws and ai, `useChat` in Chromium, the official MCP SDKs, the
# `codex` binary, and the commands of the README and of docs/agents.md.
set -euo pipefail
cd "$(dirname "$0")/.."
# With its whole path: clients start it in other folders.
HEADWATER_BIN=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/debug/headwater | head -n 1)}")
export HEADWATER_BIN
scripts/packages.sh js
cd tests/js
npm test
