#!/usr/bin/env python3
"""Compares the dependencies of the binary with deny.toml: licences, and crates with several versions. Checks that the
command line of macOS and Windows needs no crate that works on Linux only.

Needs only cargo and Python 3.11. Exits with 1 and a message for each problem if something is not allowed, or if an
exception is no longer needed.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Systems with only the command line of a server, and the crates that need Linux.
ELSEWHERE = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu"]
LINUX_ONLY = {
    "headwater-gateway",
    "headwater-limits",
    "headwater-log",
    "headwater-network",
    "headwater-sandbox",
    "headwater-store",
    "headwater-worker",
    "headwater-workspace",
    "listenfd",
    "sd-notify",
}


def cargo(*args: str) -> str:
    command = ["cargo", *args, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Evaluates an SPDX expression. `/` is how old crates write OR."""
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def one_of() -> bool:
        result = all_of()
        while words and words[0] == "OR":
            words.pop(0)
            result = all_of() or result
        return result

    def all_of() -> bool:
        result = single()
        while words and words[0] == "AND":
            words.pop(0)
            result = single() and result
        return result

    def single() -> bool:
        word = words.pop(0)
        if word == "(":
            result = one_of()
            words.pop(0)
            return result
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return word in allowed

    return one_of()


def crates(*args: str) -> dict[str, set[str]]:
    """The versions of each crate in the binary."""
    tree = cargo(
        "tree", "--package", "headwater", "--edges", "normal", "--prefix", "none", "--format", "{p}", *args
    )
    versions: dict[str, set[str]] = {}
    for line in tree.splitlines():
        name, version, *_ = line.split()
        versions.setdefault(name, set()).add(version)
    return versions


def doubled() -> dict[str, set[str]]:
    """Names of crates of which the binary contains several versions."""
    return {name: found for name, found in crates().items() if len(found) > 1}


def main() -> int:
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed = set(rules["licenses"]["allow"])
    skipped = {entry["crate"] for entry in rules["bans"]["skip"]}
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    problems = []
    for package in packages:
        licence = package["license"] or ""
        if package["source"] and not (licence and is_allowed(licence, allowed)):
            problems.append(f"{package['name']} {package['version']}: the licence `{licence}` is not allowed")
    found = doubled()
    for name in sorted(found.keys() - skipped):
        versions = ", ".join(sorted(found[name]))
        problems.append(f"{name} has several versions ({versions}): use one version, or explain it in deny.toml")
    for name in sorted(skipped - found.keys()):
        problems.append(f"{name} no longer has several versions: remove it from deny.toml")
    for target in ELSEWHERE:
        for name in sorted(LINUX_ONLY & crates("--target", target).keys()):
            problems.append(f"{name} needs Linux, but headwater for {target} depends on it")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{len(packages)} packages, licences allowed, {len(found)} doubled versions explained")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
