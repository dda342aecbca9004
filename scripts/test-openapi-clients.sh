#!/usr/bin/env bash
# Tests the OpenAPI document of the real server: redocly's lint reports nothing, and the clients that
# openapi-typescript and openapi-python-client generate from it compile and run one execution.
#
# Packages come from npm and PyPI, in the versions of tests/openapi. Nothing else is read from the network.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${HEADWATER_BIN:-$(ls -t target/*/debug/headwater | head -n 1)}")
sources=$PWD/tests/openapi
work=$PWD/target/openapi-clients
mkdir -p "$work"
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true CI=${CI:-true}

scripts/packages.sh openapi
venv=$work/venv

folder=$(mktemp -d)
data=$folder/data
finish() {
    "$binary" stop --data "$data" --end-sessions --yes >/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
"$binary" serve --listen 127.0.0.1:0 --data "$data" >"$folder/out" 2>"$folder/log" &
for _ in $(seq 300); do
    [ -s "$data/server.json" ] && [ -s "$data/token" ] && break
    sleep 0.1
done
address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$data/server.json")
token=$(cat "$data/token")
failed() { tail -n 20 "$folder/log" >&2; exit 1; }

# The document is public: no token.
python3 -c 'import sys, urllib.request as r; open(sys.argv[2], "wb").write(r.urlopen(sys.argv[1]).read())' \
    "http://$address/openapi.json" "$folder/openapi.json"
tools=$sources/node_modules/.bin
"$tools/redocly" lint --config "$sources/redocly.yaml" "$folder/openapi.json"

typescript=$work/typescript
rm -rf "$typescript"
mkdir -p "$typescript"
cp "$sources/package.json" "$sources/tsconfig.json" "$sources/client.ts" "$typescript/"
ln -s "$sources/node_modules" "$typescript/node_modules"
(
    cd "$typescript"
    "$tools/openapi-typescript" "$folder/openapi.json" --output schema.d.ts >/dev/null
    "$tools/tsc" --project tsconfig.json
    node out/client.js "http://$address" "$token"
) || failed

python=$work/python
PATH=$venv/bin:$PATH "$venv/bin/openapi-python-client" generate --path "$folder/openapi.json" \
    --config "$sources/python.yaml" --output-path "$python" --overwrite --fail-on-warning
PYTHONPATH=$python "$venv/bin/python" "$sources/client.py" "http://$address" "$token" || failed
