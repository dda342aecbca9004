"""Tests the proxy examples of deploy/proxies with Debian's nginx and Caddy in front of a real server.

Run by scripts/test-deploy.sh. Needs nginx, caddy, curl and openssl, and HEADWATER_BIN. The examples are used as they
are, except for addresses, ports and the certificate. Nothing here measures time: a test of streaming lets the program
continue only after the client has seen what came before, so a proxy that buffers makes it time out.
"""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest

from fixture import PATIENCE, REPOSITORY, Server, eventually, free_port, listens, replaced

EXAMPLES = REPOSITORY / "deploy" / "proxies"
NAME = "headwater.example.com"
# The address of the client, which is neither the server's nor the proxy's.
CLIENT = "127.0.0.2"


def settings(trusted):
    """The configuration that the examples ask for."""
    proxies = 'trusted_proxies = ["127.0.0.1"]\n' if trusted else ""
    return f'pool = 1\n[server]\nhosts = ["{NAME}"]\nheartbeat = "1s"\n{proxies}'


class Nginx:
    """Debian's nginx with deploy/proxies/nginx.conf."""

    def __init__(self, folder, upstream, changes=()):
        self.port, self.plain_port = free_port(), free_port()
        example = replaced(
            (EXAMPLES / "nginx.conf").read_text(),
            ("server 127.0.0.1:8080;", f"server 127.0.0.1:{upstream};"),
            ("listen 80;", f"listen 127.0.0.1:{self.plain_port};"),
            ("    listen [::]:80;\n", ""),
            ("listen 443 ssl http2;", f"listen 127.0.0.1:{self.port} ssl http2;"),
            ("    listen [::]:443 ssl http2;\n", ""),
            (f"/etc/letsencrypt/live/{NAME}/fullchain.pem", str(folder / "certificate.pem")),
            (f"/etc/letsencrypt/live/{NAME}/privkey.pem", str(folder / "key.pem")),
            *changes,
        )
        (folder / "nginx.conf").write_text(
            f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx-error.log;\n"
            "events {}\nhttp {\n"
            f"access_log {folder}/nginx-access.log;\n"
            + "".join(
                f"{kind}_temp_path {folder}/nginx-{kind};\n"
                for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
            )
            + example
            + "}\n"
        )
        command = [shutil.which("nginx", path="/usr/sbin:/usr/bin"), "-p", str(folder), "-c", "nginx.conf"]
        subprocess.run([*command, "-t", "-q"], check=True)
        self.process = subprocess.Popen(command)
        eventually("nginx listens", lambda: listens(self.port))

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


class Caddy:
    """Debian's Caddy with deploy/proxies/Caddyfile."""

    plain_port = None

    def __init__(self, folder, upstream):
        self.port = free_port()
        example = replaced(
            (EXAMPLES / "Caddyfile").read_text(),
            (
                f"{NAME} {{",
                f"https://{NAME}:{self.port} {{\n\tbind 127.0.0.1\n"
                f"\ttls {folder}/certificate.pem {folder}/key.pem",
            ),
            ("127.0.0.1:8080", f"127.0.0.1:{upstream}"),
        )
        (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + example)
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        self.log = open(folder / "caddy.log", "wb")
        self.process = subprocess.Popen(
            ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"],
            env=environment,
            stdout=self.log,
            stderr=self.log,
        )
        eventually("Caddy listens", lambda: listens(self.port))

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.log.close()


class Client:
    """A client of the proxy, from an address of its own."""

    def __init__(self, folder, proxy, token):
        self.proxy, self.token = proxy, token
        self.tls = ssl.create_default_context(cafile=str(folder / "certificate.pem"))
        # As a browser at the default port sends them: the proxies of this test listen on other ports.
        self.origin = f"https://{NAME}"

    def connect(self):
        plain = socket.create_connection(
            ("127.0.0.1", self.proxy.port), timeout=PATIENCE, source_address=(CLIENT, 0)
        )
        return self.tls.wrap_socket(plain, server_hostname=NAME)

    def send(self, method, path, body=None, headers=None, token=True):
        """Sends a request and returns its response, whose body is read by the caller."""
        connection = http.client.HTTPConnection(NAME)
        connection.sock = self.connect()
        every = {"Authorization": f"Bearer {self.token}"} if token else {}
        if isinstance(body, dict):
            body = json.dumps(body)
            every["Content-Type"] = "application/json"
        connection.request(method, path, body=body, headers={**every, **(headers or {})})
        return connection.getresponse()

    def json(self, method, path, body=None, expected=(200, 201)):
        response = self.send(method, path, body)
        text = response.read()
        assert response.status in expected, f"{method} {path}: {response.status} {text}"
        return json.loads(text)

    def session(self):
        return self.json("POST", "/v1/sessions", {})["id"]

    def start(self, shell):
        """Starts a shell command whose input stays open and returns the execution's id."""
        return self.json("POST", "/v1/executions", {"shell": shell, "stdin": "open"})["id"]

    def events(self, execution, after=0):
        """Opens a stream of events."""
        response = self.send("GET", f"/v1/executions/{execution}/events?batch_ms=0&after={after}")
        assert response.status == 200, response.read()
        assert response.getheader("Content-Type").startswith("text/event-stream")
        return response


def read_until(response, wanted):
    """Reads lines of a stream until one contains `wanted`, and returns all that were read."""
    lines = []
    while True:
        line = response.readline().decode()
        if not line:
            raise AssertionError(f"the stream ended before {wanted!r}: {lines}")
        lines.append(line)
        if wanted in line:
            return lines


def parsed(response):
    """Yields (id, event, data) of a stream, until it ends or breaks."""
    number, kind = 0, ""
    while line := response.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name == "id":
            number = int(value)
        elif name == "event":
            kind = value
        elif name == "data" and kind != "reconnect":
            yield number, kind, json.loads(value)


class WebSocket:
    """Enough of RFC 6455 for a terminal: text frames, pings, and a close."""

    def __init__(self, client, path):
        self.socket = client.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nOrigin: {client.origin}\r\n"
            f"Authorization: Bearer {client.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        self.reader = self.socket.makefile("rb")
        status = self.reader.readline().decode()
        assert " 101 " in status, status + self.reader.read1(4096).decode()
        while self.reader.readline().strip():
            pass

    def send(self, message, opcode=1):
        data, mask = json.dumps(message).encode() if opcode == 1 else message, os.urandom(4)
        assert len(data) < 126
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
        self.socket.sendall(bytes([0x80 | opcode, 0x80 | len(data)]) + mask + masked)

    def receive(self):
        """Returns the next text message, and answers pings meanwhile."""
        while True:
            first, length = self.reader.read(2)
            length &= 0x7F
            if length >= 126:
                length = int.from_bytes(self.reader.read(2 if length == 126 else 8), "big")
            data = self.reader.read(length)
            opcode = first & 0x0F
            if opcode == 9:
                self.send(data, opcode=10)
            elif opcode == 8:
                raise AssertionError(f"the socket was closed: {data}")
            elif opcode == 1:
                return json.loads(data)

    def output_until(self, wanted):
        text = ""
        while wanted not in text:
            message = self.receive()
            if message["type"] == "output":
                text += message["content"]
        return text


class Fixture(unittest.TestCase):
    """A server, a proxy in front of it, and a client."""

    proxy_kind = None

    @classmethod
    def setUpClass(cls):
        if cls.proxy_kind is None:
            raise unittest.SkipTest("the tests of this class run for each proxy")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="headwater-proxies-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}",
             "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", cls.folder / "key.pem",
             "-out", cls.folder / "certificate.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        cls.server = cls.start_server()
        cls.addClassCleanup(cls.server.stop)
        cls.proxy = cls.start_proxy()
        cls.addClassCleanup(cls.proxy.stop)
        cls.client = Client(cls.folder, cls.proxy, cls.server.token)

    @classmethod
    def start_server(cls):
        return Server(cls.folder / "data", settings(trusted=True))

    @classmethod
    def start_proxy(cls):
        return cls.proxy_kind(cls.folder, cls.server.port)

    def denied_address(self, marker, headers):
        """Sends a request without a token, and returns the address that the audit log has for it."""
        path = f"/v1/sessions/{marker}"
        self.assertEqual(self.client.send("GET", path, headers=headers, token=False).status, 401)
        row = eventually(
            "the denial is in the audit log",
            lambda: self.client.json("GET", f"/v1/audit?object={path}")["items"],
        )
        return row[0]["address"]


class ProxyTests(Fixture):
    """What every example must do."""

    def test_events_arrive_while_the_program_runs(self):
        execution = self.client.start("echo first; read line; echo second $line")
        events = self.client.events(execution)
        read_until(events, "first")
        self.client.send("POST", f"/v1/executions/{execution}/stdin", b"go\n").read()
        read_until(events, "second go")
        read_until(events, "event: exited")

    def test_followed_output_arrives_while_the_program_runs(self):
        execution = self.client.start("echo first; read line; echo second $line")
        output = self.client.send("GET", f"/v1/executions/{execution}/output?stream=stdout&follow=true")
        self.assertEqual(output.readline(), b"first\n")
        self.client.send("POST", f"/v1/executions/{execution}/stdin", b"go\n").read()
        self.assertEqual(output.readline(), b"second go\n")

    def test_the_start_of_a_request_arrives_before_its_end_is_sent(self):
        execution = self.client.start("while read line; do echo got $line; done")
        events = self.client.events(execution)
        sock = self.client.connect()
        sock.sendall(
            f"POST /v1/executions/{execution}/stdin?eof=true HTTP/1.1\r\nHost: {NAME}\r\n"
            f"Authorization: Bearer {self.client.token}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        for line in (b"one\n", b"two\n"):
            sock.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            read_until(events, "got " + line.decode().strip())
        sock.sendall(b"0\r\n\r\n")
        read_until(events, "event: exited")

    def test_idle_streams_carry_heartbeats(self):
        execution = self.client.start("read line")
        events = self.client.events(execution)
        comments = 0
        while comments < 3:
            comments += events.readline().startswith(b":")
        self.client.send("POST", f"/v1/executions/{execution}/cancel").read()

    def test_a_stream_resumes_after_the_server_was_killed(self):
        execution = self.client.start('for n in $(seq 40); do echo "<$n>"; sleep 0.1; done')
        seen, last, killed, ended = "", 0, False, False
        while not ended:
            try:
                for last, kind, data in parsed(self.client.events(execution, last)):
                    ended = ended or kind == "exited"
                    if kind == "stdout":
                        seen += data["text"]
                        if not killed:
                            os.kill(self.server.gateway_pid(), 9)
                            killed = True
            except (AssertionError, OSError, http.client.HTTPException):
                continue
        self.assertTrue(killed)
        self.assertEqual(re.findall(r"<(\d+)>", seen), [str(n) for n in range(1, 41)])

    def test_a_terminal_works_over_a_websocket(self):
        terminal = WebSocket(self.client, f"/v1/sessions/{self.client.session()}/terminal")
        terminal.send({"type": "command", "command": "echo $((6 * 7))-is-the-answer"})
        terminal.output_until("42-is-the-answer")

    def test_a_large_file_is_uploaded_and_downloaded(self):
        # More than the 1 MiB that nginx allows by default, and more than `max_body`, which does not apply to files.
        content = os.urandom(1 << 20) * 40
        path = f"/v1/sessions/{self.client.session()}/files/content?path=large"
        uploaded = self.client.send("PUT", path, content)
        self.assertEqual(uploaded.status, 201, uploaded.read())
        downloaded = hashlib.sha256(self.client.send("GET", path).read()).hexdigest()
        self.assertEqual(downloaded, hashlib.sha256(content).hexdigest())

    def test_a_json_body_over_the_limit_gets_the_servers_own_error(self):
        response = self.client.send("POST", "/v1/executions", {"shell": "x" * (17 << 20)})
        self.assertEqual(response.status, 413)
        self.assertIn("error", json.loads(response.read()))

    def test_the_server_sees_the_address_of_the_client(self):
        self.assertEqual(self.denied_address("plain", {}), CLIENT)

    def test_a_client_cannot_choose_its_address(self):
        spoofed = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9", "X-Real-IP": "203.0.113.9"}
        self.assertEqual(self.denied_address("spoofed", spoofed), CLIENT)

    def test_a_browser_signs_in_and_a_foreign_page_does_not(self):
        name = f"ann-{os.urandom(4).hex()}"
        self.client.json("POST", "/v1/users", {"name": name, "password": "a long password", "role": "member"})
        body = {"name": name, "password": "a long password", "cookie": True}
        own = self.client.send("POST", "/v1/login", body, {"Origin": self.client.origin}, token=False)
        self.assertEqual(own.status, 200, own.read())
        self.assertIn("Secure", own.getheader("Set-Cookie"))
        foreign = self.client.send("POST", "/v1/login", body, {"Origin": "https://evil.example"}, token=False)
        self.assertEqual(foreign.status, 403)

    def test_streams_share_one_connection_over_http_2(self):
        execution = self.client.json("POST", "/v1/executions", {"shell": "echo over http 2"})["id"]
        result = subprocess.run(
            ["curl", "-sS", "-N", "--http2", "--max-time", str(PATIENCE), "-w", "HTTP/%{http_version}",
             "--cacert", self.folder / "certificate.pem", "--resolve", f"{NAME}:{self.proxy.port}:127.0.0.1",
             "-H", f"Authorization: Bearer {self.client.token}", "-H", f"Host: {NAME}",
             f"https://{NAME}:{self.proxy.port}/v1/executions/{execution}/events"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        self.assertIn("over http 2", result)
        self.assertTrue(result.endswith("HTTP/2"), result)

    def test_metrics_are_not_public(self):
        self.assertEqual(self.client.send("GET", "/metrics").status, 404)


class NginxTests(ProxyTests):
    proxy_kind = Nginx

    def test_plain_http_is_redirected(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.plain_port, timeout=PATIENCE)
        connection.request("GET", "/docs?a=b", headers={"Host": NAME})
        response = connection.getresponse()
        self.assertEqual(response.status, 301)
        self.assertEqual(response.getheader("Location"), f"https://{NAME}/docs?a=b")


class CaddyTests(ProxyTests):
    proxy_kind = Caddy


class WithoutTheSettingsTests(Fixture):
    """Controls: without the settings of the example, the checks above fail."""

    proxy_kind = Nginx

    @classmethod
    def start_server(cls):
        return Server(cls.folder / "data", settings(trusted=False))

    @classmethod
    def start_proxy(cls):
        changes = (
            ("proxy_request_buffering off;", ""),
            ("client_max_body_size 0;", ""),
        )
        return Nginx(cls.folder, cls.server.port, changes)

    def test_the_start_of_a_request_is_kept_by_a_proxy_that_buffers(self):
        execution = self.client.start("read line; echo got $line")
        sock = self.client.connect()
        sock.sendall(
            f"POST /v1/executions/{execution}/stdin HTTP/1.1\r\nHost: {NAME}\r\n"
            f"Authorization: Bearer {self.client.token}\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n".encode()
        )
        waiting = self.client.json("GET", f"/v1/executions/{execution}?wait=2s")
        self.assertEqual(waiting["stdout_bytes"], 0)
        sock.sendall(b"0\r\n\r\n")
        read_until(self.client.events(execution), "got one")

    def test_an_upload_over_the_proxys_default_is_refused_by_the_proxy(self):
        path = f"/v1/sessions/{self.client.session()}/files/content?path=large"
        response = self.client.send("PUT", path, bytes(2 << 20))
        self.assertEqual(response.status, 413)
        self.assertIn(b"nginx", response.read())

    def test_an_unlisted_proxy_hides_its_clients_and_breaks_browsers(self):
        self.assertEqual(self.denied_address("unlisted", {}), "127.0.0.1")
        own = self.client.send("POST", "/v1/login", {"name": "a", "password": "b"}, {"Origin": self.client.origin}, False)
        self.assertEqual(own.status, 403)


if __name__ == "__main__":
    unittest.main(verbosity=2)
