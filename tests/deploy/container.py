"""Tests the container image with Podman, as root: what `doctor` reports, and what stop and restart do to sessions.

Run by `scripts/test-deploy.sh container`. The image is built from HEADWATER_BIN; its base comes from a registry unless
it is already there. Variables: HEADWATER_IMAGE tests this image instead of building one; PODMAN is the command with its
global options (`podman --runtime runc`), PODMAN_RUN has more options for every container.
"""

import errno
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

from fixture import PATIENCE, REPOSITORY, eventually, free_port

PODMAN = shlex.split(os.environ.get("PODMAN", "podman"))
OPTIONS = shlex.split(os.environ.get("PODMAN_RUN", ""))
CAPABILITIES = ["--cap-add", "SYS_ADMIN,NET_ADMIN"]
PROFILE = ["--security-opt", f"seccomp={REPOSITORY}/deploy/container/seccomp.json"]


def podman(*arguments, check=True):
    command = [*PODMAN, *map(str, arguments)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and result.returncode != 0:
        raise AssertionError(f"{shlex.join(command)}: {result.returncode}\n{result.stdout}")
    return result


def image():
    if "HEADWATER_IMAGE" in os.environ:
        return os.environ["HEADWATER_IMAGE"]
    with tempfile.TemporaryDirectory() as context:
        # Only what the recipe copies if nothing is compiled.
        shutil.copytree(REPOSITORY / "deploy", pathlib.Path(context) / "deploy")
        shutil.copy(os.environ["HEADWATER_BIN"], pathlib.Path(context) / "headwater")
        podman(
            "build", "--format", "docker", "-t", "headwater-test", "-f", f"{context}/deploy/container/Containerfile",
            "--target", "prebuilt", "--build-arg", "BINARY=headwater",
            "--build-arg", "PACKAGES=procps python3-minimal", context,
        )  # fmt: skip
    return "headwater-test"


class ContainerTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.image = image()

    def doctor(self, *options):
        """Runs doctor and returns its exit code and the checks that failed."""
        result = podman("run", "--rm", "--network", "none", *OPTIONS, *options, self.image, "doctor", check=False)
        failed = [line.split("  ")[1].strip() for line in result.stdout.splitlines() if line.startswith("FAILED")]
        return result.returncode, failed, result.stdout

    def test_the_defaults_of_podman_are_refused_with_the_missing_capabilities(self):
        code, failed, text = self.doctor()
        self.assertEqual(code, 1, text)
        self.assertIn("user", failed)
        self.assertIn("--cap-add NET_ADMIN --cap-add SYS_ADMIN", " ".join(text.split()))

    def test_two_capabilities_are_enough_for_podman(self):
        code, failed, text = self.doctor(*CAPABILITIES)
        self.assertEqual((code, failed), (0, []), text)

    def test_one_of_the_capabilities_is_not_enough(self):
        for one, missing in (("SYS_ADMIN", "NET_ADMIN"), ("NET_ADMIN", "SYS_ADMIN")):
            code, _, text = self.doctor("--cap-add", one)
            self.assertEqual(code, 1, text)
            self.assertIn(f"--cap-add {missing}", text)

    def test_the_seccomp_profile_allows_what_headwater_needs(self):
        code, failed, text = self.doctor(*CAPABILITIES, *PROFILE)
        self.assertEqual((code, failed), (0, []), text)

    def test_the_seccomp_profile_refuses_what_changes_the_host(self):
        # swapoff of a file that does not exist changes nothing. The capability is there: only the profile refuses.
        number = {"x86_64": 168, "aarch64": 225}[os.uname().machine]
        call = f'my $path = "/nowhere"; syscall({number}, $path); print $! + 0'
        run = ["run", "--rm", *OPTIONS, *CAPABILITIES, "--entrypoint", "/usr/bin/perl"]
        refused = podman(*run, *PROFILE, self.image, "-e", call).stdout.split()[-1]
        allowed = podman(*run, "--security-opt", "seccomp=unconfined", self.image, "-e", call).stdout.split()[-1]
        self.assertEqual((int(refused), int(allowed)), (errno.EPERM, errno.ENOENT))

    def test_an_ordinary_user_needs_an_unmasked_proc(self):
        user = ["--user", "1000", "-e", "HEADWATER_DATA=/tmp/headwater", *PROFILE]
        code, failed, text = self.doctor(*user)
        self.assertEqual(code, 1, text)
        self.assertIn("proc", failed)
        code, failed, text = self.doctor(*user, "--security-opt", "unmask=ALL")
        self.assertEqual((code, failed), (0, []), text)

    def test_a_stop_hibernates_sessions_and_the_next_start_resumes_them(self):
        data = pathlib.Path(tempfile.mkdtemp(prefix="headwater-container-"))
        self.addCleanup(shutil.rmtree, data, ignore_errors=True)
        name, self.port = f"headwater-test-{os.getpid()}", free_port()
        podman(
            "run", "-d", "--name", name, "--network", "host", "-e", f"HEADWATER_LISTEN=127.0.0.1:{self.port}",
            "-v", f"{data}:/var/lib/headwater", *OPTIONS, *CAPABILITIES, self.image,
        )  # fmt: skip
        self.addCleanup(podman, "rm", "-f", "-t", "20", name)
        eventually("the server is ready", self.is_ready)
        self.token = (data / "token").read_text().strip()
        session = self.json("POST", "/v1/sessions", {})["id"]
        shell = "echo kept > file; trap 'echo saved; exit 7' TERM; echo ready; while :; do sleep 0.1; done"
        running = self.json("POST", f"/v1/sessions/{session}/executions", {"shell": shell})["id"]
        eventually("the program runs", lambda: self.output(running) == b"ready\n")

        # A killed worker is replaced, takes over the program, and leaves no zombie.
        podman("exec", name, "pkill", "-9", "-f", "headwater worker")
        eventually("a new worker answers", self.is_ready)
        self.assertEqual(self.json("GET", f"/v1/executions/{running}")["state"], "running")
        eventually("no zombie is left", lambda: "Z" not in podman("exec", name, "ps", "-eo", "stat").stdout)

        podman("stop", "-t", "60", name)
        podman("start", name)
        eventually("the server is ready again", self.is_ready)
        ended = self.json("GET", f"/v1/executions/{running}")["exit"]
        self.assertEqual((ended["reason"], ended["detail"]["kind"]), ("cancelled", "session_hibernated"))
        self.assertEqual(self.output(running), b"ready\nsaved\n")
        again = self.json("POST", f"/v1/sessions/{session}/executions", {"shell": "cat file"})["id"]
        self.json("GET", f"/v1/executions/{again}?wait=60s")
        self.assertEqual(self.output(again), b"kept\n")

    def is_ready(self):
        try:
            address = f"http://127.0.0.1:{self.port}/readyz"
            return urllib.request.urlopen(address, timeout=5).read().startswith(b"ready")
        except OSError:
            return False

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.read()

    def json(self, method, path, body=None):
        return json.loads(self.request(method, path, body))

    def output(self, execution):
        return self.request("GET", f"/v1/executions/{execution}/output?stream=stdout")


if __name__ == "__main__":
    unittest.main(verbosity=2)
