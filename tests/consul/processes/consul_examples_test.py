#!/usr/bin/env python3
"""examples/consul/ as it stands, but for the agent's address: a service that registers itself, and what finds it there: a
real Prometheus by its consul_sd_configs, consul-template, Traefik's provider."""

import base64
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402
import ports  # noqa: E402
from consul_fixture import wait_until  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "consul"
PROMETHEUS = pathlib.Path(os.environ.get("KVORUM_PROMETHEUS_DIR", "/nowhere")) / "prometheus"


class ConsulExamplesTest(consul_fixture.ConsulCase):
    def run_program(self, *command, **more):
        process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, command)], stdin=subprocess.DEVNULL,
                                   **more)

        def stop():
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self.addCleanup(stop)
        return process

    def example(self, name, interval=""):
        """The example with this agent's address."""
        text = (EXAMPLES / name).read_text()
        self.assertIn("127.0.0.1:8500", text)
        path = self.folder / name
        path.write_text(text.replace("127.0.0.1:8500", self.agent.address).replace("interval: 15s", interval))
        return path

    def serve(self, agent, name="web"):
        """register.py, once it is healthy; (process, the port of its service)"""
        service = self.run_program("/usr/bin/python3", EXAMPLES / "register.py", name, 0, agent.address,
                                   stdout=subprocess.PIPE, text=True)
        number, _, address = service.stdout.readline().split()
        wait_until(lambda: number in self.healthy(name), f"healthy {number}")
        return service, int(address.rsplit(":", 1)[1])

    def healthy(self, name):
        return [entry["Service"]["ID"] for entry in self.agent.get(f"/v1/health/service/{name}?passing")]

    def test_a_service_registers_itself_and_leaves(self):
        service, port = self.serve(self.agent)
        entry, = self.agent.get("/v1/health/service/web")
        self.assertEqual((entry["Service"]["Port"], entry["Service"]["Meta"]), (port, {"metrics_path": "/metrics"}))
        service.terminate()
        self.assertEqual(service.wait(timeout=30), 0)
        wait_until(lambda: not self.agent.get("/v1/health/service/web"), "end of the service")

    def move(self, *arguments):
        done = subprocess.run(["/usr/bin/python3", EXAMPLES / "move.py", *arguments], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_keys_of_an_export_of_consul_are_moved(self):
        export = self.folder / "kv.json"
        export.write_text(json.dumps([
            {"key": "app/", "flags": 0, "value": ""},
            {"key": "app/a b", "flags": 42, "value": base64.b64encode(b"\0one").decode()},
            {"key": "zürich", "flags": 2**64 - 1, "value": None}]))
        self.assertEqual(self.move("kv", export, self.agent.address), "3 keys\n")
        pairs = {pair["Key"]: pair for pair in self.agent.get("/v1/kv/?recurse")}
        self.assertEqual(sorted(pairs), ["app/", "app/a b", "zürich"])
        self.assertEqual((pairs["app/a b"]["Flags"], base64.b64decode(pairs["app/a b"]["Value"])), (42, b"\0one"))
        self.assertEqual((pairs["zürich"]["Flags"], pairs["zürich"]["Value"]), (2**64 - 1, None))

    def test_the_catalogs_external_nodes_are_moved(self):
        self.agent.put("/v1/catalog/register", {
            "Node": "far", "Address": "10.9.0.1", "NodeMeta": {"external-node": "true"},
            "Service": {"ID": "db-1", "Service": "db", "Port": 5432, "Tags": ["x"]},
            "Checks": [{"Name": "db up", "ServiceID": "db-1", "Status": "warning", "Output": "slow"}]})
        self.serve(self.agent)
        root, self.root = self.root, self.root + "-new"
        new = self.start("n9")
        self.root = root
        self.assertEqual(self.move("catalog", self.agent.address, new.address), "1 nodes\n")
        self.assertEqual(sorted(node["Node"] for node in new.get("/v1/catalog/nodes")), ["far", "n9"])
        entry, = new.get("/v1/health/service/db")
        self.assertEqual((entry["Node"]["Meta"]["external-node"], entry["Service"]["Port"], entry["Service"]["Tags"]),
                         ("true", 5432, ["x"]))
        self.assertEqual([(check["CheckID"], check["Status"], check["Output"], check["ServiceName"])
                          for check in entry["Checks"]], [("db up", "warning", "slow", "db")])

    def scrape(self, file, targets):
        """A Prometheus by the example's relabelling, of what Prometheus' own discovery has found by consul_sd_configs:
        Debian's is built without that. The port where it answers."""
        config = file.read_text()
        config, replaced = re.subn(r"consul_sd_configs:\n +- server: .*\n +refresh_interval: .*",
                                   f"file_sd_configs:\n      - files: [{targets}]", config)
        self.assertEqual(replaced, 1)
        file.write_text(config)
        port = ports.free_port()
        with open(self.folder / "log", "wb") as log:
            self.run_program(PROMETHEUS, f"--config.file={file}", f"--storage.tsdb.path={self.folder}/data",
                             f"--web.listen-address=127.0.0.1:{port}", stdout=log, stderr=log)
        return port

    @unittest.skipUnless(PROMETHEUS.exists(), "there is no Prometheus")
    def test_prometheus_scrapes_what_agents_register(self):
        discovery = consul_fixture.client("go", "prometheus-discovery")
        other = self.start("n2")
        _, first = self.serve(self.agent)
        _, second = self.serve(other)
        file = self.example("prometheus.yml", "interval: 1s")
        # By default it asks about a service twice a minute at most.
        file.write_text(file.read_text().replace(self.agent.address, self.agent.address + "\n        refresh_interval: 1s"))
        targets = self.folder / "targets.json"
        process = self.run_program(discovery, file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

        def follow():
            for line in process.stdout:
                found = [{"targets": [labels.pop("__address__")], "labels": labels} for labels in json.loads(line)]
                targets.with_suffix(".new").write_text(json.dumps(found))
                targets.with_suffix(".new").replace(targets)
        reader = threading.Thread(target=follow)
        self.addCleanup(reader.join)
        self.addCleanup(process.kill)
        reader.start()
        wait_until(targets.exists, "discovered targets")
        port = self.scrape(file, targets)

        def found(expression):
            try:
                query = urllib.parse.urlencode({"query": expression})
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=20) as answer:
                    result = json.load(answer)["data"]["result"]
            except (urllib.error.URLError, ConnectionError):
                return []
            return sorted((each["metric"]["node"], each["metric"]["instance"], each["metric"]["health"]) for each in result)

        both = [("n1", f"127.0.0.1:{first}", "passing"), ("n2", f"127.0.0.1:{second}", "passing")]
        wait_until(lambda: found('example_up{service="web"} == 1') == both, "scraped metrics")
        _, third = self.serve(self.agent)
        wait_until(lambda: len(found("example_up == 1")) == 3, "new instance")
        # A dead agent's instances stay, as critical ones, which an alert can name.
        other.kill()
        wait_until(lambda: ("n2", f"127.0.0.1:{second}", "critical") in found('example_up{node="n2"}'), "dead node")
        self.assertIn(("n1", f"127.0.0.1:{third}", "passing"), found("example_up"))

    def test_consul_template_renders_and_renders_again(self):
        template = consul_fixture.client("go", "consul-template")
        out = self.folder / "upstreams.conf"
        with open(self.folder / "log", "wb") as log:
            self.run_program(template, f"-consul-addr={self.agent.address}",
                             f"-template={EXAMPLES / 'upstreams.ctmpl'}:{out}", stdout=log, stderr=log)

        def rendered():
            return out.read_text() if out.exists() else ""
        wait_until(lambda: "# greeting: none" in rendered(), "first rendering")
        self.assertNotIn("server", rendered())
        service, port = self.serve(self.agent)
        wait_until(lambda: f"server 127.0.0.1:{port};" in rendered(), "instance")
        self.agent.put("/v1/kv/web/greeting", b"hello")
        wait_until(lambda: "# greeting: hello" in rendered(), "value of the key")
        service.terminate()
        wait_until(lambda: "server" not in rendered(), "end of the instance")

    def test_traefik_refuses_a_configuration_that_it_does_not_know(self):
        probe = consul_fixture.client("go", "traefik-provider")
        path = self.example("traefik.yml")
        path.write_text(path.read_text().replace("exposedByDefault", "exposedByDefalt"))
        done = subprocess.run([probe, path], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("exposedByDefalt", done.stderr)

    def test_traefiks_provider_routes_to_healthy_instances(self):
        probe = consul_fixture.client("go", "traefik-provider")
        process = self.run_program(probe, self.example("traefik.yml"), stdout=subprocess.PIPE, text=True)
        lines = queue.Queue()

        def read():
            for line in process.stdout:
                lines.put(json.loads(line))
        threading.Thread(target=read, daemon=True).start()

        def wait_for(servers):
            end = time.monotonic() + consul_fixture.WAIT_S
            while (said := lines.get(timeout=end - time.monotonic()).get("web", [])) != servers:
                self.assertLess(time.monotonic(), end, said)
        wait_for([])
        other = self.start("n2")
        _, first = self.serve(self.agent)
        wait_for([f"http://127.0.0.1:{first}"])
        _, second = self.serve(other)
        wait_for(sorted(f"http://127.0.0.1:{port}" for port in (first, second)))
        other.kill()
        wait_for([f"http://127.0.0.1:{first}"])


if __name__ == "__main__":
    consul_fixture.main()
