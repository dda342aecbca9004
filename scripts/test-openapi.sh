#!/usr/bin/env bash
# Runs schemathesis over the OpenAPI document: no request may cause a 5xx or an undocumented response.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${HEADWATER_BIN:-$(ls target/*/debug/headwater)}
venv=target/schemathesis
examples=${EXAMPLES:-20}

scripts/packages.sh schemathesis
folder=$(mktemp -d)
data=$folder/data
finish() {
    "$binary" stop --data "$data" || true
    rm -rf "$folder"
}
trap finish EXIT
"$binary" serve --listen 127.0.0.1:0 --requests-per-second 0 --data "$data" >"$folder/out" 2>"$folder/log" &
for _ in $(seq 300); do
    [ -s "$data/server.json" ] && [ -s "$data/token" ] && break
    sleep 0.1
done
address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$data/server.json")
token=$(cat "$data/token")

# Streams that do not end by themselves are excluded; the end-to-end tests cover them.
SCHEMATHESIS_HOOKS=tests/openapi/hooks.py "$venv/bin/st" run "http://$address/openapi.json" \
    --header "Authorization: Bearer $token" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --exclude-path-regex '/events$|/attach$|/files/watch$|tool-progress' \
    --phases examples,coverage,fuzzing --max-examples "$examples" \
    --seed 1 --generation-deterministic --request-timeout 90 --workers 2 --no-color --warnings off \
    || { tail -n 20 "$folder/log"; exit 1; }
