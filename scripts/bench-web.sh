#!/usr/bin/env bash
# Measures the web app in Debian's Chromium, against the release binary: the size of the first load, latency, frames and
# memory beside their floors, and terminals beside ttyd or, where that is not installed, terminado. Arguments select
# parts of web/bench/bench.mjs.
set -euo pipefail
cd "$(dirname "$0")/.."
HEADWATER_BIN=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/release/headwater | head -n 1)}")
venv=$PWD/target/bench-web-venv
"$venv/bin/python" -c "import terminado" 2>/dev/null || {
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check terminado
}
export HEADWATER_BIN PYTHON=$venv/bin/python
cd web
npm run --silent report | grep 'first load'
npm run --silent bench -- "$@"
[ $# -gt 0 ] || node bench/terminal.mjs
