"""What the tests of deploy/ share: a real server, and waiting."""

import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Seconds after which a wait or a read fails. Long enough for a machine under heavy load.
PATIENCE = 180


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(what, check):
    """Waits until `check` returns something true, and returns that."""
    deadline = time.monotonic() + PATIENCE
    while not (result := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen within {PATIENCE} s: {what}")
        time.sleep(0.05)
    return result


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def replaced(text, *pairs):
    """Replaces parts of an example. Each of them must occur, so that the test notices a changed example."""
    for old, new in pairs:
        assert old in text, f"the example does not contain {old!r}"
        text = text.replace(old, new)
    return text


class Server:
    """A real server with this configuration, in a data folder that is created unless it exists."""

    def __init__(self, folder, configuration=None):
        self.binary = os.environ["HEADWATER_BIN"]
        self.folder = folder
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.port = free_port()
        if configuration is not None:
            (folder / "headwater.toml").write_text(configuration)
        self.log = folder.parent / f"{folder.name}.log"
        self.start()
        eventually("the server is ready", self.is_ready)
        self.token = (folder / "token").read_text().strip()

    def start(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--data", str(self.folder), "--listen", f"127.0.0.1:{self.port}"],
                stdout=log,
                stderr=log,
            )

    def is_ready(self):
        if self.process.poll() is not None:
            text = self.log.read_text()
            # On an overloaded machine a worker may need longer than a server waits for it.
            if "does not answer" not in text:
                raise AssertionError("the server did not start: " + text)
            self.start()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).close()
        except OSError:
            return False
        return (self.folder / "token").exists()

    def gateway_pid(self):
        """The process that serves requests: the child of the supervisor."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in children:
            if b"serve" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        return None

    def open(self, method, path, body=None, content_type="application/json"):
        """Sends a request and returns the open response."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.add_header("Content-Type", content_type)
        return urllib.request.urlopen(request, timeout=PATIENCE)

    def bytes(self, method, path, body=None, content_type="application/json"):
        with self.open(method, path, body, content_type) as response:
            return response.read()

    def json(self, method, path, body=None):
        return json.loads(self.bytes(method, path, body))

    def run(self, *arguments, **options):
        """Runs a command of the command line on the same data folder."""
        command = [self.binary, *arguments, "--data", str(self.folder)]
        return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout

    def stop(self):
        if self.process.poll() is None:
            self.run("stop")
        self.process.wait(PATIENCE)
