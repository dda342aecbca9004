"""Tests backup and restore as docs/operations.md describes them, with the commands of that page.

Run by scripts/test-deploy.sh. Needs root (workspaces belong to the users of sessions), tar, sqlite3 and HEADWATER_BIN.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from fixture import REPOSITORY, Server, eventually

# Prepared sessions are not needed by any of these tests.
CONFIGURATION = "pool = 0\n"
PASSWORD = "a long password"


def documented(marker):
    """The shell commands of docs/operations.md that follow this comment, up to the end of their block."""
    text = (REPOSITORY / "docs" / "operations.md").read_text()
    found = re.search(r"^# " + re.escape(marker) + r"\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/operations.md has no block that begins with `# {marker}`"
    return found.group(1)


class BackupTests(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headwater-backup-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "backup").mkdir()
        self.old = self.start("data", CONFIGURATION)
        self.fill()

    def start(self, name, configuration=None):
        server = Server(self.folder / name, configuration)
        self.addCleanup(server.stop)
        return server

    def shell(self, marker, data):
        """Runs the documented commands with the paths of this test."""
        commands = documented(marker)
        for old, new in (
            ("/var/lib/headwater", str(self.folder / data)),
            ("/backup", str(self.folder / "backup")),
            ("systemctl stop headwater-hibernate", f"{self.old.binary} stop --data {self.folder / data}"),
        ):
            commands = commands.replace(old, new)
        commands = re.sub(r"^systemctl .*\n", "", commands, flags=re.MULTILINE)
        subprocess.run(["sh", "-euc", commands], check=True, capture_output=True)

    def fill(self):
        """Creates one of each thing that a backup must contain."""
        self.session = self.old.json("POST", "/v1/sessions", {"name": "dev"})["id"]
        script = (
            "mkdir -p src; echo hello > src/file; chmod 600 src/file; ln -s file src/link; "
            "truncate -s 256M sparse; echo tail >> sparse; id -u > uid"
        )
        self.ended = self.execute(script + "; echo the log")
        self.old.json("POST", f"/v1/sessions/{self.session}/snapshots", {"name": "first"})
        self.execute("echo changed > src/file")
        self.old.json("POST", "/v1/users", {"name": "ann", "password": PASSWORD, "role": "member"})
        # Audit rows are written a moment after the response.
        eventually("the audit row is written", lambda: self.old.json("GET", "/v1/audit?action=user.create")["items"])

    def execute(self, shell):
        started = self.old.json("POST", f"/v1/sessions/{self.session}/executions", {"shell": shell})["id"]
        ended = self.old.json("GET", f"/v1/executions/{started}?wait=60s")
        self.assertEqual(ended["exit"].get("code"), 0, ended)
        return started

    def run_on(self):
        """Starts a program that keeps printing, and waits until it has begun."""
        shell = "while :; do echo tick; sleep 0.1; done"
        running = self.old.json("POST", f"/v1/sessions/{self.session}/executions", {"shell": shell})["id"]
        eventually("the program prints", lambda: self.old.bytes("GET", f"/v1/executions/{running}/output?stream=stdout"))
        return running

    def check(self, new):
        """Checks that a restored server has everything of `fill`."""
        self.assertEqual(new.token, self.old.token)
        sessions = new.json("GET", "/v1/sessions")["items"]
        self.assertEqual([(one["id"], one["state"]) for one in sessions], [(self.session, "hibernated")])
        self.assertEqual(new.bytes("GET", f"/v1/executions/{self.ended}/output?stream=stdout"), b"the log\n")
        login = new.json("POST", "/v1/login", {"name": "ann", "password": PASSWORD})
        self.assertIn("access_token", login)
        self.assertTrue(new.json("GET", "/v1/audit?action=user.create")["items"])
        # The next use resumes the session, as its old user, with its files.
        shell = "cat src/link; tail -c 5 sparse; test $(cat uid) = $(id -u) && echo changed again > src/file && cat src/file"
        started = new.json("POST", f"/v1/sessions/{self.session}/executions", {"shell": shell})["id"]
        ended = new.json("GET", f"/v1/executions/{started}?wait=60s")
        self.assertEqual(ended["exit"].get("code"), 0, ended)
        output = new.bytes("GET", f"/v1/executions/{started}/output?stream=stdout")
        self.assertEqual(output, b"changed\ntail\nchanged again\n")
        # A sparse file stays sparse.
        blocks = next((new.folder / "sessions" / self.session).glob("workspace/sparse")).stat().st_blocks
        self.assertLess(blocks * 512, 1 << 20)
        # Snapshots are restored.
        snapshot = new.json("GET", f"/v1/sessions/{self.session}/snapshots")["items"][0]["id"]
        new.json("POST", f"/v1/sessions/{self.session}/snapshots/{snapshot}/restore")
        content = new.bytes("GET", f"/v1/sessions/{self.session}/files/content?path=src/file")
        self.assertEqual(content, b"hello\n")

    def test_a_backup_of_a_stopped_server_is_restored_elsewhere(self):
        running = self.run_on()
        self.shell("Back up a stopped server", "data")
        self.old.process.wait()
        shutil.rmtree(self.folder / "data")
        self.shell("Restore", "restored")
        new = self.start("restored")
        self.check(new)
        self.assertEqual(new.json("GET", f"/v1/executions/{running}")["exit"]["detail"]["kind"], "session_hibernated")

    def test_a_backup_of_a_running_server_is_restored_elsewhere(self):
        running = self.run_on()
        self.shell("Back up a running server", "data")
        self.old.stop()
        shutil.rmtree(self.folder / "data")
        self.shell("Restore", "restored")
        new = self.start("restored")
        self.check(new)
        self.assertEqual(new.json("GET", f"/v1/executions/{running}")["exit"]["reason"], "lost")
        output = new.bytes("GET", f"/v1/executions/{running}/output?stream=stdout")
        self.assertTrue(output.startswith(b"tick\n"), output)

    def test_a_snapshot_of_the_disk_is_restored(self):
        # A snapshot of the file system contains what is left when everything stops at once.
        running = self.run_on()
        worker = self.worker()
        inits = pathlib.Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
        for process in [self.old.process.pid, self.old.gateway_pid(), worker, *map(int, inits)]:
            os.kill(process, signal.SIGKILL)
        self.old.process.wait()
        subprocess.run(["cp", "-a", "--sparse=always", self.folder / "data", self.folder / "restored"], check=True)
        shutil.rmtree(self.folder / "data")
        new = self.start("restored")
        self.check(new)
        self.assertEqual(new.json("GET", f"/v1/executions/{running}")["exit"]["reason"], "lost")

    def worker(self):
        """The process id of the worker of the old data folder."""
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                arguments = entry.read_bytes().split(b"\0")
            except OSError:
                continue
            if b"worker" in arguments and str(self.old.folder).encode() in arguments:
                return int(entry.parent.name)
        raise AssertionError("no worker is running")


if __name__ == "__main__":
    unittest.main(verbosity=2)
