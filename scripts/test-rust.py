#!/usr/bin/env python3
"""Runs the Rust tests, and runs each of a few that failed once more, alone.

About 600 tests run programs, kill processes and fill limits on a machine that is busy with all the others. A test that
fails then and passes alone is flaky: that is a bug, of the test or of the product, and it is listed at the end with
its first message, but it does not hide the result of all other tests. A test that fails twice fails the run, and so do
more than MAX_REPEATED failures.
"""

import os
import re
import signal
import subprocess
import sys

MAX_REPEATED = 3
CARGO = os.environ.get("CARGO", "cargo")
ALL = [CARGO, "test", "--workspace", "--no-fail-fast"]

RUNNING = re.compile(r"^\s+Running (unittests )?(\S+) \((\S+)\)$")
RESULT = re.compile(r"^test result: FAILED\. \d+ passed; (\d+) failed;")
FAILED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$")


def selector(unit, source, binary):
    """The arguments that select one test binary."""
    name = os.path.basename(binary).rsplit("-", 1)[0]
    if not unit:
        return ["--test", name]
    return ["--lib"] if source.endswith("lib.rs") else ["--bin", name]


def run_all():
    """Runs all tests. Returns the exit code, the failed tests with their binaries, and the output."""
    failed, output, current = [], [], None
    with subprocess.Popen(ALL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as tests:
        for line in tests.stdout:
            print(line, end="", flush=True)
            output.append(line)
            if found := RUNNING.match(line):
                current = selector(*found.groups())
            elif (found := FAILED.match(line)) and current:
                failed.append((current, found.group(1)))
    return tests.returncode, failed, output


def all_failures_are_known(failed, output):
    """Whether every failed binary ran to its end and each of its failed tests was recognised."""
    results = [int(found.group(1)) for line in output if (found := RESULT.match(line))]
    binaries = sum(line.startswith("error: test failed, to rerun pass") for line in output)
    return 0 < len(failed) == sum(results) and len(results) == binaries


def passes_alone(binary, name):
    """Runs one test. A run that finds no such test does not count."""
    command = [CARGO, "test", "--workspace", *binary, "--", "--exact", name]
    again = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", check=False)
    print(again.stdout, flush=True)
    return again.returncode == 0 and f"test {name} ... ok\n" in again.stdout


def message_of(name, output):
    """What a failed test printed, without its stack."""
    try:
        start = output.index(f"---- {name} stdout ----\n")
    except ValueError:
        return ""
    lines = []
    for line in output[start + 1 :]:
        if line.startswith(("stack backtrace", "Stack backtrace", "----", "failures:")) or len(lines) == 20:
            break
        lines.append(line)
    return "".join(lines).strip()


def main():
    # A shell starts what runs in the background with SIGINT ignored, and programs inherit that. Tests send SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code, failed, output = run_all()
    if code == 0:
        return 0
    if not all_failures_are_known(failed, output) or len(failed) > MAX_REPEATED:
        print(f"{len(failed)} tests failed", file=sys.stderr)
        return code
    for binary, name in failed:
        print(f"== once more, alone: {name} ==", flush=True)
        if not passes_alone(binary, name):
            print(f"failed twice: {name}", file=sys.stderr)
            return code
    print("== flaky: these failed with all the others and passed alone; each is a bug to fix ==")
    for _, name in failed:
        print(f"{name}\n{message_of(name, output)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
