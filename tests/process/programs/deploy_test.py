"""The example of deploy/ is a cluster: three hosts, each with its file of settings, and a supervisor that waits to be
told that it is ready."""

import configparser
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import network  # noqa: E402
import server  # noqa: E402

DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "deploy")


def settings_of(name):
    settings = {}
    with open(os.path.join(DEPLOY, "three-hosts", f"{name}.env"), encoding="utf8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                variable, value = line.rstrip("\n").split("=", 1)
                settings[variable] = value
    return settings


def unit():
    """The sections of kvorum.service."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(os.path.join(DEPLOY, "kvorum.service"), encoding="utf8")
    return parser


class Supervisor:
    """The socket that systemd gives to a unit of Type=notify."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(path)
        self.told = b""

    def was_told(self, word):
        try:
            while True:
                self.told += self.socket.recv(4096) + b"\n"
        except BlockingIOError:
            return word in self.told

    def ready(self):
        return self.was_told(b"READY=1")


class DeployTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvorum-deploy-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.network = network.Network()
        self.addCleanup(self.network.close)
        self.hosts = {f"10.0.0.1{n}": self.network.new_host() for n in (1, 2, 3)}
        self.service = unit()["Service"]
        self.processes = []
        self.addCleanup(self.end)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def start(self, number):
        settings = {variable: re.sub(r"10\.0\.0\.1\d", lambda m: self.hosts[m.group()], value)
                    for variable, value in settings_of(f"kv{number}").items()}
        # StateDirectory makes it.
        self.assertEqual(settings["ETCD_DATA_DIR"], f"/var/lib/{self.service['StateDirectory']}")
        settings["ETCD_DATA_DIR"] = os.path.join(self.folder, f"kv{number}")
        program, *arguments = shlex.split(self.service["ExecStart"])
        self.assertEqual(program, "/usr/local/bin/kvorum")
        self.assertEqual(self.service["Type"], "notify")
        supervisor = Supervisor(os.path.join(self.folder, f"notify{number}"))
        self.addCleanup(supervisor.socket.close)
        settings.update(PATH=os.environ["PATH"], NOTIFY_SOCKET=supervisor.path,
                        WATCHDOG_USEC=str(int(self.service["WatchdogSec"].removesuffix("s")) * 1_000_000))
        with open(os.path.join(self.folder, f"log{number}"), "wb") as log:
            self.processes.append(subprocess.Popen(
                [*self.network.inside(self.hosts[f"10.0.0.1{number}"]), server.BINARY, *arguments], env=settings,
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, umask=int(self.service["UMask"], 8)))
        return supervisor

    def logged(self, number, text):
        with open(os.path.join(self.folder, f"log{number}"), encoding="utf8") as log:
            return text in log.read()

    def test_three_hosts_with_the_example_s_settings_are_a_cluster(self):
        first = self.start(1)
        # Alone it is no cluster: the supervisor is not told what is not true.
        cluster.wait_until(lambda: self.logged(1, "listening for peers"), "the first to listen")
        self.assertFalse(first.ready())
        others = [self.start(2), self.start(3)]
        for supervisor in (first, *others):
            cluster.wait_until(supervisor.ready, "a member to be ready")
        # It is alive, and systemctl status shows its part.
        for supervisor in (first, *others):
            cluster.wait_until(lambda told=supervisor: told.was_told(b"WATCHDOG=1"), "a word to the watchdog")
        cluster.wait_until(lambda: sum(s.was_told(b"STATUS=leader in term ") for s in (first, *others)) == 1,
                           "one to say that it leads")
        endpoints = [f"{host}:2379" for host in self.hosts.values()]
        for endpoint in endpoints:
            with cluster.channel_to(endpoint) as channel:
                server.put(server.kv(channel), endpoint.encode(), b"v")
                self.assertEqual(len(cluster.rpc_pb2_grpc.ClusterStub(channel).MemberList(
                    cluster.rpc_pb2.MemberListRequest(), timeout=10).members), 3)
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            self.assertEqual(process.wait(int(self.service["TimeoutStopSec"].removesuffix("s"))), 0)

    def test_the_three_files_differ_only_in_what_is_the_host_s(self):
        files = [settings_of(f"kv{n}") for n in (1, 2, 3)]
        for variable in files[0]:
            values = {file[variable] for file in files}
            of_host = variable == "ETCD_NAME" or variable.endswith("_URLS")
            self.assertEqual(len(values), 3 if of_host else 1, variable)
        self.assertEqual(files[0].keys(), files[1].keys())
        self.assertEqual(files[0].keys(), files[2].keys())


if __name__ == "__main__":
    network.run_isolated()
