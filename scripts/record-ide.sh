#!/usr/bin/env bash
# Records the IDE in Chromium as an animated picture for the README: docs/screenshots/ide.gif.
set -euo pipefail
cd "$(dirname "$0")/.."
HEADWATER_BIN=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/debug/headwater | head -n 1)}")
export HEADWATER_BIN
frames=$PWD/target/recording
venv=target/recording-venv
[ -x "$venv/bin/python" ] || {
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check pillow
}
(cd web && npm run --silent recording -- "$frames")
"$venv/bin/python" scripts/frames-to-gif.py "$frames" docs/screenshots/ide.gif
