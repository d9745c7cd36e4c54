#!/usr/bin/env python3
"""Consul's own client for Go, unmodified, by its own tests: those of its packages api and api/watch whose routes the agent
has. They start what they talk to by the name `consul`, which here is ../clients/consul."""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402

CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "clients"
FILES = ("Client", "KVClient", "Lock", "Semaphore", "Session", "Catalog", "Health", "Agent", "Service", "Node", "Status", "CoordinateNode")
# Tests that ask for what is refused here, or differs (docs/consul.md), by the reason.
REFUSED = {
    "a mesh": ("AgentServices_SidecarService", "AgentServices_ExternalConnectProxy", "AgentConnect.*", "CatalogConnect.*",
               "CatalogServiceUnmanagedProxy", "CatalogGatewayServices_.*", "HealthConnect.*", "HealthIngress",
               "AgentServices_MultiPort", "AgentReload_MultiPort"),
    "access control lists": ("AgentUpdateToken.*",),
    "gossip between agents": ("AgentJoin", "AgentLeave", "AgentForceLeave", "AgentForceLeavePrune", "AgentMembersOpts"),
    "instances of the servers' own service": (
        "CatalogService", "CatalogServiceCached", "CatalogService_SingleTag", "CatalogService_NodeMetaFilter",
        "CatalogServices_NodeMetaFilter", "CatalogServices_FilterExpr_NodeMeta", "CatalogNode", "CatalogNodeServiceList",
        "HealthService", "HealthService_NodeMetaFilter"),
    "Consul's version in a node's meta": ("CatalogNodes",),
    "transactions of nodes": ("ClientTxn", "ClientTxnWrite"),
    "localities": ("AgentServices", "AgentServiceAndReplaceChecks"),
    "the value of a hash": ("AgentService",),
    "metrics of a program in Go": ("AgentMetrics",),
    "logs over HTTP": ("AgentMonitor.*",),
    "a container's check": ("AgentChecks_Docker",),
    "scripts over HTTP": ("AgentScriptCheck",),
    "a configuration of Consul's own": ("AgentReload", "ClientTLSOptions"),
}


class GoConsulTest(consul_fixture.ConsulCase):
    def setUp(self):
        """Each test starts its own agent."""

    def run_tests(self, program, wanted):
        binary = consul_fixture.client("go", program)
        environment = {**os.environ, "PATH": f"{CLIENTS}:{os.environ['PATH']}", "KVORUM_ENDPOINT": self.endpoint}
        done = subprocess.run([binary, "-test.v", "-test.parallel=2", "-test.timeout=10m", "-test.run", wanted],
                              env=environment, cwd=binary.parent, capture_output=True, text=True, timeout=700, check=False)
        told = re.findall(r"^--- (\w+): (\w+) ", done.stdout, re.MULTILINE)
        for verdict, name in told:
            with self.subTest(name):
                self.assertEqual(verdict, "PASS", "\n".join(re.findall(r"^ .*$", done.stdout, re.MULTILINE))[-3000:])
        return [name for verdict, name in told if verdict == "PASS"]

    def test_the_tests_of_its_package(self):
        refused = "|".join(name for names in REFUSED.values() for name in names)
        listed = subprocess.run([consul_fixture.client("go", "api.test"), "-test.list", f"^TestAPI_({'|'.join(FILES)})"],
                                capture_output=True, text=True, timeout=60, check=True).stdout.split()
        wanted = [name for name in listed
                  if name.startswith("TestAPI_") and not re.fullmatch(f"TestAPI_({refused})", name)]
        self.assertGreater(len(wanted), 80)
        self.assertEqual(sorted(self.run_tests("api.test", f"^({'|'.join(wanted)})$")), sorted(wanted))

    def test_the_tests_of_its_watches(self):
        passed = self.run_tests("watch.test", "^Test(Key|Services|Nodes|Service|Checks|AgentService|Run|Parse)")
        self.assertGreater(len(passed), 10)


if __name__ == "__main__":
    consul_fixture.main()
