#!/usr/bin/env bash
# Builds the command line for Windows, and checks it for macOS if Apple's SDK is installed (SDKROOT, or on a Mac): C code
# in a dependency is compiled for the target.
#
# Needs mingw-w64's gcc and the targets: `rustup target add x86_64-pc-windows-gnu aarch64-apple-darwin`.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'check-portable: %s\n' "$*" >&2; exit 1; }

command -v x86_64-w64-mingw32-gcc >/dev/null || fail "mingw-w64 is missing: apt-get install gcc-mingw-w64-x86-64"
CARGO="${CARGO:-cargo}"
# A folder for this only: the build output of this system stays as it is.
options=(--package headwater --target-dir target/portable)

echo "== Windows =="
"$CARGO" build "${options[@]}" --target x86_64-pc-windows-gnu
echo "== macOS =="
if [ -n "${SDKROOT:-}" ] || [ "$(uname)" = Darwin ]; then
    CC_aarch64_apple_darwin="${CC_aarch64_apple_darwin:-clang}" \
        "$CARGO" check "${options[@]}" --target aarch64-apple-darwin
else
    echo "not checked: set SDKROOT to Apple's SDK"
fi
