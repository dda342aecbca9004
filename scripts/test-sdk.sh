#!/usr/bin/env bash
# Tests the client libraries, sdk/typescript and sdk/python, against the real binary.
set -euo pipefail
cd "$(dirname "$0")/.."
# With its whole path: the tests start it in other folders.
HEADWATER_BIN=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/debug/headwater | head -n 1)}")
export HEADWATER_BIN
scripts/packages.sh sdk

(
  cd sdk/typescript
  npm run --silent lint
  npm run --silent check
  npm test
)

venv=$PWD/target/sdk-venv
cd sdk/python
"$venv/bin/ruff" check --quiet .
"$venv/bin/ruff" format --quiet --check .
"$venv/bin/mypy"
"$venv/bin/pytest" -q
