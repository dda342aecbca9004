#!/usr/bin/env bash
# Checks the web app without a server: format, lints, types, unit tests, and the size of the first load.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build-web.sh
cd web
npm run --silent lint
npm run --silent check
npm run --silent test
npm run --silent report
