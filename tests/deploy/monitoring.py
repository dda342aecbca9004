"""Tests deploy/monitoring: a real Prometheus scrapes a real server, and every query of the dashboard finds data.

Run by scripts/test-deploy.sh. Needs prometheus and promtool (Debian's prometheus) and HEADWATER_BIN. Grafana itself is
not started: Debian has no package of it.
"""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

from fixture import PATIENCE, REPOSITORY, Server, eventually, free_port, replaced

EXAMPLES = REPOSITORY / "deploy" / "monitoring"
# The watchdog flags a program of this name as a miner.
MINER = "suspicious"
CONFIGURATION = f'''pool = 1
[watchdog]
interval = "1s"
names = ["{MINER}"]
'''


class MonitoringTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="headwater-monitoring-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.server = Server(cls.folder / "data", CONFIGURATION)
        cls.addClassCleanup(cls.server.stop)
        cls.cause_every_metric()
        cls.start_prometheus()

    @classmethod
    def cause_every_metric(cls):
        """Makes each metric appear: those without an event yet are absent."""
        server = cls.server
        ended = server.json("POST", "/v1/executions", {"shell": "echo hello"})["id"]
        server.json("GET", f"/v1/executions/{ended}?wait=60s")
        server.bytes("GET", f"/v1/executions/{ended}/output?stream=stdout")
        server.run("prune", "--all-logs", "--yes")
        miner = {"shell": f"cp /bin/sleep /tmp/{MINER}; /tmp/{MINER} 1000"}
        running = server.json("POST", "/v1/executions", miner)["id"]
        cls.stream = server.open("GET", f"/v1/executions/{running}/events")
        cls.addClassCleanup(cls.stream.close)

    @classmethod
    def start_prometheus(cls):
        cls.port = free_port()
        example = replaced(
            (EXAMPLES / "prometheus.yml").read_text(),
            ("127.0.0.1:8080", f"127.0.0.1:{cls.server.port}"),
            ("/etc/prometheus/headwater-token", str(cls.server.folder / "token")),
        )
        (cls.folder / "prometheus.yml").write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n" + example)
        shutil.copy(EXAMPLES / "rules.yml", cls.folder / "headwater-rules.yml")
        subprocess.run(["promtool", "check", "config", cls.folder / "prometheus.yml"], check=True, capture_output=True)
        with open(cls.folder / "prometheus.log", "wb") as log:
            prometheus = subprocess.Popen(
                ["prometheus", f"--config.file={cls.folder}/prometheus.yml", f"--storage.tsdb.path={cls.folder}/tsdb",
                 f"--web.listen-address=127.0.0.1:{cls.port}"],
                stdout=log, stderr=log,
            )  # fmt: skip
        cls.addClassCleanup(prometheus.wait, PATIENCE)
        cls.addClassCleanup(prometheus.terminate)
        # It listens before it answers queries.
        eventually("Prometheus is ready", cls.is_ready)

    @classmethod
    def is_ready(cls):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{cls.port}/-/ready", timeout=PATIENCE):
                return True
        except OSError:
            return False

    @classmethod
    def ask(cls, path, **query):
        address = f"http://127.0.0.1:{cls.port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=PATIENCE) as response:
            return json.load(response)["data"]

    def test_prometheus_scrapes_the_server_with_the_example(self):
        eventually(
            "the target is up", lambda: self.ask("/api/v1/query", query='up{job="headwater"} == 1')["result"]
        )

    def test_every_query_of_the_dashboard_finds_data(self):
        dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
        queries = [
            (panel["title"], target["expr"])
            for panel in dashboard["panels"]
            for target in panel.get("targets", [])
        ]
        self.assertGreater(len(queries), 20)
        for title, query in queries:
            query = query.replace("$job", "headwater").replace("$instance", ".*").replace("$__rate_interval", "1m")
            with self.subTest(panel=title, query=query):
                eventually(f"{title} has data", lambda query=query: self.ask("/api/v1/query", query=query)["result"])

    def test_the_rules_are_loaded_and_evaluated(self):
        def healthy():
            rules = self.ask("/api/v1/rules")["groups"][0]["rules"]
            return rules if all(rule["health"] == "ok" for rule in rules) else None

        rules = eventually("all rules are evaluated", healthy)
        named = re.findall(r"- alert: (\w+)", (EXAMPLES / "rules.yml").read_text())
        self.assertEqual(sorted(rule["name"] for rule in rules), sorted(named))

    def test_the_alert_of_the_watchdog_fires_for_a_real_flag(self):
        def firing():
            alerts = self.ask("/api/v1/alerts")["alerts"]
            return [alert for alert in alerts if alert["labels"]["alertname"] == "HeadwaterAbuse"]

        eventually("the alert fires", firing)

    def test_every_metric_of_rules_and_dashboard_exists(self):
        text = (EXAMPLES / "rules.yml").read_text() + (EXAMPLES / "dashboard.json").read_text()
        used = set(re.findall(r"headwater_[a-z_]+", text))

        def missing():
            scraped = self.server.bytes("GET", "/metrics").decode()
            return used - set(re.findall(r"^(headwater_[a-z_]+)", scraped, re.MULTILINE))

        eventually("every metric appears", lambda: not missing())

    def test_the_alerts_pass_their_unit_tests(self):
        rules = pathlib.Path(__file__).parent / "rules-test.yml"
        result = subprocess.run(["promtool", "test", "rules", rules], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
