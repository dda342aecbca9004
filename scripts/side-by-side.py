#!/usr/bin/env python3
"""Runs checks two at a time, and prints what each has printed, one after the other in the order of the arguments.

    scripts/side-by-side.py 'JavaScript clients: scripts/test-js.sh' 'MCP SDK: scripts/test-mcp.sh'

Suites that mostly wait (for a server, a program, a download) take half as long this way, and their output stays
readable: that of the first check that has not ended is shown as it comes, that of others after it. All of them run even
if one fails; then the exit code is 1, and the last lines name those that failed, with their exit codes.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 2


class Check:
    """A command, and what it has printed so far."""

    def __init__(self, text):
        self.title, _, self.command = (part.strip() for part in text.partition(":"))
        if not self.command:
            sys.exit(f"`{text}` is not `TITLE: COMMAND`")
        self.output = tempfile.TemporaryFile()
        self.seconds = 0.0
        self.code = None
        self.process = None
        self.has_ended = threading.Event()

    def run(self):
        """Runs the command. Its processes are a group of their own, so that they can be ended together."""
        begin = time.monotonic()
        try:
            self.process = subprocess.Popen(
                ["bash", "-c", self.command],
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.code = self.process.wait()
        finally:
            self.seconds = time.monotonic() - begin
            self.has_ended.set()

    def show(self):
        """Prints the output as it comes, until the command has ended."""
        print(f"== {self.title} ==", flush=True)
        position = 0
        while True:
            is_last = self.has_ended.wait(0.2)
            # The command writes at a position of its own.
            new = os.pread(self.output.fileno(), 1 << 20, position)
            position += len(new)
            sys.stdout.buffer.write(new)
            sys.stdout.flush()
            if is_last and not new:
                break
        print(f"== {self.title}: {'passed' if self.code == 0 else 'FAILED'} in {self.seconds:.0f} s ==", flush=True)

    def end(self):
        """Ends the command and everything that it started."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)


def main():
    # A shell starts what runs in the background with SIGINT ignored, and programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    checks = [Check(text) for text in sys.argv[1:]]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for check in checks:
                pool.submit(check.run)
            for check in checks:
                check.show()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for check in checks:
                check.end()
            raise
    failed = [check for check in checks if check.code != 0]
    for check in failed:
        print(f"failed with exit code {check.code}: {check.title} ({check.command})", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
