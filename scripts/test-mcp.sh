#!/usr/bin/env bash
# Tests `headwater mcp` and `/mcp` with the official Python SDK of the Model Context Protocol and with the command line of the MCP
# inspector, which come from PyPI and npm in the versions of tests/mcp. The TypeScript SDKs are tested by
# scripts/test-js.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/debug/headwater | head -n 1)}")
sources=$PWD/tests/mcp
venv=$PWD/target/mcp-sdk
inspector=$PWD/target/mcp-inspector
scripts/packages.sh mcp

folder=$(mktemp -d)
finish() {
    "$binary" stop --data "$folder/data" --end-sessions --yes >/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
# A session may not contain the data folder.
mkdir "$folder/project"
cd "$folder/project"
"$binary" serve --listen 127.0.0.1:0 --data "$folder/data" >"$folder/serve.out" 2>"$folder/serve.log" &
until grep -q 'is listening on' "$folder/serve.out"; do
    kill -0 $! || { cat "$folder/serve.log" && exit 1; }
    sleep 0.1
done
url=http://$(sed 's/.*"address": *"\([^"]*\)".*/\1/' "$folder/data/server.json" | tr -d '\n')/mcp
token=$(cat "$folder/data/token")
timeout 300 "$venv/bin/python" "$sources/client.py" "$binary" "$folder/data" "$url" "$token"

inspect() {
    timeout 120 "$inspector/node_modules/.bin/mcp-inspector" --cli "${target[@]}" "$@"
}
stdio=("$binary" mcp --data "$folder/data")
http=("$url" --transport http --header "Authorization: Bearer $token")
for name in stdio http; do
    declare -n target=$name
    inspect --method tools/list | grep -q '"name": "apply_patch"'
    inspect --method tools/call --tool-name exec_command --tool-arg 'cmd=echo inspected' | grep -q '"exit_code": 0'
    inspect --method prompts/list | grep -q '"name": "fix_tests"'
    inspect --method resources/templates/list | grep -q 'exec://{execution}/output'
    echo "the command line of the MCP inspector, over $name: ok"
done
