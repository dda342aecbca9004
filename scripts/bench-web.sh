#!/usr/bin/env bash
# Measures the web app in Debian's Chromium, against the release binary: the size of the first load, latency, frames and
# memory beside their floors, the chat with a scripted model, and terminals beside ttyd or, where that is not installed,
# terminado. Arguments select parts of web/bench/bench.mjs (`latency`, `stream` ...), of web/bench/chat.mjs (`chat-token`,
# `chat-output` ...) and `terminal`.
set -euo pipefail
cd "$(dirname "$0")/.."
HEADWATER_BIN=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/release/headwater | head -n 1)}")
# The peer of the terminal.
venv=$PWD/target/bench-web-venv
"$venv/bin/python" -c "import terminado" 2>/dev/null || {
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check terminado ||
        echo "terminado cannot be installed: the terminal is measured alone" >&2
}
export HEADWATER_BIN PYTHON=$venv/bin/python

pages=() chat=() terminal=()
for part in "$@"; do
    case $part in
    chat-*) chat+=("$part") ;;
    terminal) terminal+=("$part") ;;
    *) pages+=("$part") ;;
    esac
done
is_wanted() { [ "$all" -eq 0 ] || [ "$#" -gt 0 ]; }
all=$#
status=0
cd web
npm run --silent report | grep 'first load'
is_wanted "${pages[@]}" && { node bench/bench.mjs "${pages[@]}" || status=1; }
is_wanted "${chat[@]}" && { node bench/chat.mjs "${chat[@]}" || status=1; }
is_wanted "${terminal[@]}" && { node bench/terminal.mjs || status=1; }
exit "$status"
