#!/usr/bin/env bash
# Installs missing Debian packages and reports them. Does nothing, silently, if everything is installed.
#
#   scripts/setup.sh         what building, running and testing needs
#   scripts/setup.sh bench   also the peers of the benchmark
#   scripts/setup.sh web     also the browser that tests the web app
set -euo pipefail
cd "$(dirname "$0")/.."

needed=() # required to build
wanted=() # required by some demonstration, test or benchmark

say() { printf 'setup: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }
# Sessions see only the system folders, so an interpreter in a home folder does not count.
in_system() {
    local name folder
    for name in "$@"; do
        for folder in /usr/local/bin /usr/bin /bin; do
            [ -x "$folder/$name" ] && return 0
        done
    done
    return 1
}

# The linker, and the C library to link statically.
has cc || needed+=(gcc)
[ -n "$(find /usr/lib /usr/lib64 -maxdepth 2 -name libc.a -print -quit 2>/dev/null)" ] || needed+=(libc6-dev)
# Languages that sessions run.
in_system bash || wanted+=(bash)
in_system python3 || wanted+=(python3)
in_system node nodejs || wanted+=(nodejs)
in_system gcc || wanted+=(gcc libc6-dev)
in_system g++ || wanted+=(g++)
in_system make || wanted+=(make)
in_system cmake || wanted+=(cmake)
in_system perl || wanted+=(perl)
# Tools with which the tests inspect the host.
has ps || wanted+=(procps)
{ has setpriv && has unshare; } || wanted+=(util-linux)
has curl || wanted+=(curl)
has jq || wanted+=(jq)
python3 -c 'import ensurepip, venv' 2>/dev/null || wanted+=(python3-venv)
has npm || wanted+=(npm)
# Asks the mirror of packages in a test.
in_system mvn || wanted+=(maven)
# Programs that the tests run in terminals.
in_system less || wanted+=(less)
in_system top || wanted+=(procps)
in_system vim vim.tiny || wanted+=(vim-tiny)
# The browser that tests the web app, with a font.
if [ "${1:-}" = web ]; then
    has chromium || wanted+=(chromium)
    [ -d /usr/share/fonts/truetype/dejavu ] || wanted+=(fonts-dejavu-core)
fi
# Peers of the benchmark.
if [ "${1:-}" = bench ]; then
    has bwrap || wanted+=(bubblewrap)
    has ccache || wanted+=(ccache)
fi

install() {
    local log
    log=$(mktemp)
    if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        >"$log" 2>&1 </dev/null; then
        rm -f "$log"
        return 0
    fi
    tail -n 5 "$log" >&2
    rm -f "$log"
    return 1
}

packages=("${needed[@]}" "${wanted[@]}")
if [ "${#packages[@]}" -gt 0 ]; then
    if ! has apt-get; then
        say "missing (Debian packages): ${packages[*]}"
        [ "${#needed[@]}" -eq 0 ] || fail "install them and try again"
    elif [ "$(id -u)" -ne 0 ]; then
        say "missing: ${packages[*]}. Install them with"
        say "    sudo apt-get install -y ${packages[*]}"
        [ "${#needed[@]}" -eq 0 ] || fail "they are required to build"
    else
        say "installing ${packages[*]}"
        if install "${packages[@]}"; then
            say "installed ${packages[*]}"
        elif [ "${#needed[@]}" -gt 0 ]; then
            fail "cannot install ${needed[*]}, which are required to build"
        else
            say "cannot install ${wanted[*]}: continuing without them"
        fi
    fi
fi

# Jupyter Server comes from PyPI, into a separate folder. Without it the benchmark continues and says so.
jupyter=target/jupyter
if [ "${1:-}" = bench ] && [ ! -f "$jupyter/ready" ]; then
    say "installing Jupyter Server into $jupyter"
    log=$(mktemp)
    if { python3 -m venv "$jupyter" && timeout 180 "$jupyter/bin/pip" install --quiet \
        --disable-pip-version-check jupyter_server ipykernel; } >"$log" 2>&1 </dev/null; then
        touch "$jupyter/ready"
    else
        tail -n 5 "$log" >&2
        say "cannot install Jupyter Server: continuing without it"
    fi
    rm -f "$log"
fi

# Codex comes from npm, with the packages of the JavaScript tests.
if [ "${1:-}" = bench ] && ! has codex && [ ! -e tests/js/node_modules/.bin/codex ]; then
    say "installing Codex into tests/js/node_modules"
    log=$(mktemp)
    if ! (cd tests/js && timeout 180 npm ci --no-progress --loglevel=error) >"$log" 2>&1 </dev/null; then
        tail -n 5 "$log" >&2
        say "cannot install Codex: continuing without it"
    fi
    rm -f "$log"
fi

# Rust comes from rustup, because Debian's is too old.
if ! has cargo && [ -x "$HOME/.cargo/bin/cargo" ]; then
    fail "cargo is not in PATH: . \"\$HOME/.cargo/env\""
fi
has cargo || fail "Rust is missing: install it from https://rustup.rs"
least=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
found=$(cargo --version | cut -d ' ' -f 2)
if [ "$(printf '%s\n' "$least" "$found" | sort -V | head -n 1)" != "$least" ]; then
    has rustup || fail "Rust $least is required, found $found: install it from https://rustup.rs"
    say "Rust $least is required, found $found: running rustup update stable"
    rustup update stable </dev/null
fi
for tool in fmt clippy; do
    if ! cargo "$tool" --version >/dev/null 2>&1; then
        component=${tool/#fmt/rustfmt}
        has rustup || { say "cargo $tool is missing: \`make check\` needs it"; continue; }
        say "adding $component: running rustup component add $component"
        rustup component add "$component" </dev/null || say "cannot add $component: \`make check\` needs it"
    fi
done
