#!/usr/bin/env python3
"""deploy/monitoring/ as it is shipped: a Prometheus scrapes a real cluster by it, and every expression of its alerts
and of its dashboard is about series that the cluster has."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MONITORING = os.path.join(HERE, "..", "..", "deploy", "monitoring")
TOOLS = os.environ["KVORUM_PROMETHEUS_DIR"]
WORDS = {"up", "vector", "rate", "increase", "sum", "max", "count", "floor", "by", "and", "or", "le", "predict_linear",
         "histogram_quantile", "changes", "time", "unless"}


def tool(name, *arguments):
    return subprocess.run([os.path.join(TOOLS, name), *arguments], capture_output=True, text=True, timeout=60, check=False)


def dashboard():
    """(panel, expression) of every query, and those of its variables."""
    with open(os.path.join(MONITORING, "dashboard.json"), encoding="utf8") as file:
        whole = json.load(file)
    for panel in whole["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__rate_interval", "1m")
            yield panel["title"], re.sub(r"\$(cluster|instance)", ".*", text)


class MonitoringTest(unittest.TestCase):
    def test_the_rules_are_valid_and_do_what_they_say(self):
        for arguments in (("check", "rules", os.path.join(MONITORING, "alerts.yml")),
                          ("check", "config", os.path.join(MONITORING, "prometheus.yml")),
                          ("test", "rules", os.path.join(HERE, "alerts_test.yml"))):
            done = tool("promtool", *arguments)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(MONITORING, "alerts.yml"), encoding="utf8") as file:
            alerts = re.findall(r"- alert: (\w+)", file.read())
        with open(os.path.join(HERE, "alerts_test.yml"), encoding="utf8") as file:
            raised = re.findall(r"- alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:\n +- ", file.read())
        self.assertEqual(set(alerts), set(raised))

    def start_prometheus(self, folder, targets):
        """By the shipped configuration, but for the addresses and the time between two scrapes."""
        with open(os.path.join(MONITORING, "prometheus.yml"), encoding="utf8") as file:
            config = file.read()
        config, replaced = re.subn(r"targets: \[.*\]", "targets: " + json.dumps(targets), config)
        self.assertEqual(replaced, 1)
        config = config.replace("interval: 15s", "interval: 1s").replace(
            "alerts.yml", os.path.abspath(os.path.join(MONITORING, "alerts.yml")))
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf8") as file:
            file.write(config)
        self.port = ports.free_port()
        with open(os.path.join(folder, "log"), "wb") as log:
            process = subprocess.Popen(
                [os.path.join(TOOLS, "prometheus"), f"--config.file={folder}/prometheus.yml",
                 f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder)

        def stop():
            process.kill()
            process.wait()
        self.addCleanup(stop)

    def ask(self, path, **query):
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=20) as answer:
            said = json.load(answer)
        self.assertEqual(said["status"], "success", (path, query))
        return said["data"]

    def query(self, expression):
        try:
            return self.ask("query", query=expression)["result"]
        except urllib.error.HTTPError as error:
            self.fail(f"{expression}: {error.read().decode()}")

    def wait(self, claim):
        end = time.monotonic() + 60
        while True:
            try:
                if claim():
                    return
            except OSError:  # it does not listen yet, or reads what it has written before
                pass
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_a_cluster_is_scraped_and_every_expression_knows_its_series(self):
        with tempfile.TemporaryDirectory(prefix="kvorum-prometheus-") as folder, \
                cluster.Cluster(flags=[*cluster.QUICK, "--metrics=extensive", "--archive-url", f"file://{folder}/archive",
                                       "--archive-interval", "100ms"]) as members:
            members.start()
            for member in members.members:  # what has a label for its kind of request begins with the first
                with cluster.channel_to(member.endpoint) as channel:
                    server.put(server.kv(channel), b"k", b"v")
                    server.get(server.kv(channel), b"k")
            self.start_prometheus(folder, [member.endpoint for member in members.members])

            def twice():
                counts = self.ask("query", query='count_over_time(etcd_server_has_leader{job="kvorum"}[1m])')["result"]
                return len(counts) == 3 and all(int(count["value"][1]) >= 2 for count in counts)
            self.wait(twice)
            targets = self.ask("targets")["activeTargets"]
            self.assertEqual([target["health"] for target in targets], ["up"] * 3, targets)
            self.assertEqual([len(self.query(f'up{{instance="{member.endpoint}"}} == 1')) for member in members.members],
                             [1, 1, 1])
            names = set(self.ask("label/__name__/values"))
            rules = self.ask("rules")["groups"][0]["rules"]
            self.assertGreater(len(rules), 10)
            with open(os.path.join(MONITORING, "dashboard.json"), encoding="utf8") as file:
                self.assertEqual(json.load(file)["uid"], "kvorum")
            asked = [(rule["name"], rule["query"]) for rule in rules] + list(dashboard())
            self.assertGreater(len(asked), 60)
            for title, expression in asked:
                self.query(expression)
                plain = re.sub(r'"[^"]*"|\[[^]]*\]|\{[^}]*\}|\bby \([^)]*\)', "", expression)
                metrics = {word for word in re.findall(r"[a-z]\w{2,}", plain) if word not in WORDS}
                # A label makes a series where something has happened: nothing has been an alarm yet.
                metrics -= {"etcd_debugging_server_alarms"}
                self.assertEqual(metrics - names, set(), title)
            # Nothing of what a healthy cluster shows is an alert.
            firing = [alert["labels"]["alertname"] for alert in self.ask("alerts")["alerts"]]
            self.assertEqual(firing, [])
            self.assertEqual(self.query("sum(up)")[0]["value"][1], "3")
            self.assertTrue(self.query('rate(grpc_server_handled_total[1m])'))


if __name__ == "__main__":
    unittest.main()
