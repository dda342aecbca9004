#!/usr/bin/env bash
# Checks that every test named in SPECIFICATION.md exists.
set -eu
cd "$(dirname "$0")/.."
missing=0
named=$(grep -oE '`[a-z0-9_]+`' SPECIFICATION.md | tr -d '`' | grep -E '(_.*){3}' | sort -u)
known=$(grep -rhoE '^\s*(pub(\([a-z]+\))? )?(async )?fn [a-z0-9_]+\(' crates tests --include='*.rs' | sed -E 's/.*fn ([a-z0-9_]+)\(/\1/' | sort -u)
# The tests of deploy/ are in Python, as `def test_NAME`.
known+=$'\n'$(grep -rhoE 'def test_[a-z0-9_]+\(' tests/deploy --include='*.py' | sed -E 's/def test_(.*)\(/\1/' | sort -u)
for name in $named; do
    if ! grep -qx "$name" <<<"$known"; then
        echo "SPECIFICATION.md names a test that does not exist: $name"
        missing=1
    fi
done
[ "$missing" -eq 0 ] && echo "$(wc -w <<<"$named") tests named in SPECIFICATION.md, all of them exist"
exit "$missing"
