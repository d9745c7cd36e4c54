"""deploy/docker without its daemon: the compose file's settings make a cluster, and the image's own words fit.

(A health check that finds no health takes its four seconds, twice.)
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import network  # noqa: E402
import server  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
DOCKER = os.path.join(ROOT, "deploy", "docker")


def instructions():
    """The Dockerfile's, with continued lines joined: (word, rest)."""
    with open(os.path.join(DOCKER, "Dockerfile"), encoding="utf8") as file:
        text = re.sub(r"\\\n\s*", "", file.read())
    return [tuple(line.split(" ", 1)) for line in text.splitlines() if line and not line.startswith(("#", " "))]


class ContainersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvorum-containers-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.network = network.Network()
        self.addCleanup(self.network.close)
        with open(os.path.join(DOCKER, "compose.yaml"), encoding="utf8") as file:
            self.services = yaml.safe_load(file)["services"]
        self.hosts = {name: self.network.new_host() for name in self.services}
        self.processes = {}
        self.addCleanup(self.end)

    def end(self):
        for process in self.processes.values():
            process.kill()
            process.wait()

    def start(self, name):
        service = self.services[name]
        settings = {}
        for variable, value in service["environment"].items():
            for host, address in self.hosts.items():
                value = value.replace(f"//{host}:", f"//{address}:")
            settings[variable] = value
        volume = service["volumes"][0].split(":")
        self.assertEqual(volume, [name, settings["ETCD_DATA_DIR"]], "its data is in a volume")
        settings["ETCD_DATA_DIR"] = os.path.join(self.folder, name)
        program, *arguments = service["command"]
        self.assertEqual(program, "kvorum")
        with open(os.path.join(self.folder, f"{name}.log"), "wb") as log:
            self.processes[name] = subprocess.Popen(
                [*self.network.inside(self.hosts[name]), server.BINARY, *arguments], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], **settings})

    def health(self, name):
        """The exit code of the image's health check, where the member runs."""
        text = next(rest for word, rest in instructions() if word == "HEALTHCHECK")
        program, *arguments = json.loads(text.partition("CMD ")[2])
        self.assertEqual(program, "kvorumctl")
        return subprocess.run(
            [*self.network.inside(self.hosts[name]), os.path.join(os.path.dirname(server.BINARY), program), *arguments],
            capture_output=True, check=False, timeout=30).returncode

    def test_three_members_of_the_compose_file_are_a_cluster_and_healthy(self):
        self.assertEqual(len(self.services), 3)
        self.start("kv1")
        self.assertNotEqual(self.health("kv1"), 0, "alone it serves nobody")
        self.start("kv2")
        self.start("kv3")
        for name in self.services:
            cluster.wait_until(lambda member=name: self.health(member) == 0, f"{name} to be healthy")
        for address in self.hosts.values():
            with cluster.channel_to(f"{address}:2379") as channel:
                server.put(server.kv(channel), b"k", b"v")
        self.processes["kv2"].kill()
        self.processes["kv2"].wait()
        self.assertNotEqual(self.health("kv2"), 0)
        self.assertEqual(self.health("kv1"), 0)

    def test_the_ports_of_the_host_differ_and_lead_to_the_clients_port(self):
        ports = [service["ports"][0].split(":") for service in self.services.values()]
        self.assertEqual({inside for _, _, inside in ports}, {"2379"})
        self.assertEqual(len({outside for _, outside, _ in ports}), 3)
        exposed = next(rest for word, rest in instructions() if word == "EXPOSE").split()
        self.assertEqual(exposed, ["2379", "2380"])

    def test_the_image_takes_the_packages_that_make_deb_makes(self):
        with open(os.path.join(ROOT, "scripts", "package"), encoding="utf8") as file:
            made = re.findall(r"^package (\S+) ", file.read(), re.MULTILINE)
        taken = next(rest for word, rest in instructions() if word == "COPY" and "--from=build" in rest)
        for package in ("kvorum", "kvorumctl"):
            self.assertIn(package, made)
            self.assertIn(f"/kvorum/build/packages/{package}_*.deb", taken)
        run = "".join(rest for word, rest in instructions() if word == "RUN")
        for ours, etcds in (("kvorum", "etcd"), ("kvorumctl", "etcdctl"), ("kvorumutl", "etcdutl")):
            self.assertIn(f"ln -s /usr/bin/{ours} /usr/local/bin/{etcds}", run)


if __name__ == "__main__":
    network.run_isolated()
