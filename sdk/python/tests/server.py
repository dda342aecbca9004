"""A real server for a test: started on a free port, ended with its worker and sessions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


class Server:
    def __init__(self) -> None:
        self.binary = os.environ["HEADWATER_BIN"]
        self.folder = Path(tempfile.mkdtemp(prefix="hw-sdk-py-"))
        self.data = self.folder / "data"
        self.serve("127.0.0.1:0")

    def serve(self, listen: str) -> None:
        self.process = subprocess.Popen(
            [self.binary, "serve", "--listen", listen, "--data", str(self.data)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HEADWATER_LOG": "warn"},
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "is listening on" in line:
                break
        else:
            raise RuntimeError(f"the server ended with {self.process.wait()}")
        self.address: str = json.loads((self.data / "server.json").read_text())["address"]
        self.url = f"http://{self.address}"
        self.token = (self.data / "token").read_text().strip()

    def kill(self) -> None:
        """Kills the server with -9. Its worker and the programs keep running."""
        self.process.kill()
        self.wait()

    def wait(self) -> None:
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def restart(self) -> None:
        """Starts the server again on the same address."""
        self.serve(self.address)

    def kill_and_restart(self) -> None:
        self.kill()
        self.restart()

    def stop(self) -> None:
        arguments = ["stop", "--end-sessions", "--yes", "--data", str(self.data)]
        subprocess.run([self.binary, *arguments], check=True)
        self.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
