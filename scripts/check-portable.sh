#!/usr/bin/env bash
# Builds the command line for Windows, and checks its types for macOS, whose linker needs Apple's SDK.
#
# Needs the two targets (`rustup target add x86_64-pc-windows-gnu aarch64-apple-darwin`), mingw-w64's gcc and clang.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'check-portable: %s\n' "$*" >&2; exit 1; }

# C code in a dependency is compiled for the target. The Linux build output stays as it is.
command -v x86_64-w64-mingw32-gcc >/dev/null || fail "mingw-w64 is missing: apt-get install gcc-mingw-w64-x86-64"
command -v clang >/dev/null || fail "clang is missing: apt-get install clang"
options=(--package headwater --target-dir target/portable)
CARGO="${CARGO:-cargo}"

echo "== Windows ==" && "$CARGO" build "${options[@]}" --target x86_64-pc-windows-gnu
echo "== macOS ==" && CC_aarch64_apple_darwin=clang "$CARGO" check "${options[@]}" --target aarch64-apple-darwin
