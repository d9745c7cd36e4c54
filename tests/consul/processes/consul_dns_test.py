#!/usr/bin/env python3
"""Consul's names by DNS, of what is registered over Consul's HTTP: beside our own zone, and only what lives."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402
import dns_client  # noqa: E402
from consul_fixture import wait_until  # noqa: E402
from long_run import LongRun  # noqa: E402

NOERROR, NXDOMAIN, REFUSED = 0, 3, 5


class ConsulDnsTest(consul_fixture.ConsulCase):
    def setUp(self):
        super().setUp()
        self.names = LongRun(self.endpoint, "catalog", "dns", "--dns-address", "127.0.0.1:0", "--dns-domain", "consul",
                             "--root", self.root)
        self.addCleanup(self.names.end)
        host, port = self.names.wait_for("dns")["address"].rsplit(":", 1)
        self.address = host, int(port)

    def ask(self, name, kind="A"):
        return dns_client.ask(self.address, name, kind)

    def test_consuls_names_are_those_of_what_lives(self):
        other = self.start("n2", "--node-address", "10.1.0.2", "--dns-address", "127.0.0.1:0", "--dns-domain", "consul")
        self.agent.put("/v1/agent/service/register", {
            "Name": "web", "Port": 80, "Address": "10.2.0.1", "Tags": ["v1"], "Weights": {"Passing": 7, "Warning": 1}})
        other.put("/v1/agent/service/register", {"Name": "Web", "Port": 81, "Check": {"TTL": "1h", "Status": "passing"}})
        wait_until(lambda: sorted(self.ask("web.service.consul")[2]) == ["10.1.0.2", "10.2.0.1"], "instances")
        self.assertEqual(self.ask("v1.web.service.dc1.consul")[:3], (NOERROR, False, ["10.2.0.1"]))
        _, _, answers, additional = self.ask("_web._tcp.service.consul", "SRV")
        self.assertEqual(sorted(answers), [(80, "0a020001.addr.dc1.consul"), (81, "n2.node.dc1.consul")])
        self.assertEqual(sorted((name, value) for name, _, value in additional),
                         [("0a020001.addr.dc1.consul", "10.2.0.1"), ("n2.node.dc1.consul", "10.1.0.2")])
        self.assertEqual(self.ask("n2.node.consul")[:3], (NOERROR, False, ["10.1.0.2"]))
        self.assertEqual(self.ask("db.service.consul")[0], NXDOMAIN)
        wait_until(lambda: self.ask("2.0.1.10.in-addr.arpa", "PTR")[2] == ["n2.node.dc1.consul"], "a node's name")
        self.assertEqual(self.ask("1.0.2.10.in-addr.arpa", "PTR")[2], ["web.service.dc1.consul"])
        self.assertEqual(self.ask("9.9.9.10.in-addr.arpa", "PTR")[0], REFUSED)
        # Our own zone has the same instances, and says nothing of the other one.
        self.assertEqual(sorted(self.ask("web.service.kvorum")[2]), ["10.1.0.2", "10.2.0.1"])

        other.put("/v1/agent/check/fail/service:Web")
        wait_until(lambda: self.ask("web.service.consul")[2] == ["10.2.0.1"], "the critical instance to go")
        other.put("/v1/agent/check/pass/service:Web")
        wait_until(lambda: len(self.ask("web.service.consul")[2]) == 2, "the instance that is healthy again")
        other.kill()
        wait_until(lambda: self.ask("web.service.consul")[2] == ["10.2.0.1"], "the dead agent's instance to go")
        self.assertEqual(self.ask("n2.node.consul")[0], NXDOMAIN)
        statuses = {check["CheckID"]: check["Status"] for check in self.agent.get("/v1/health/node/n2")}
        self.assertEqual(statuses, {"serfHealth": "critical", "service:Web": "passing"}, "where Consul lists it")

    def test_a_node_without_an_agent_is_there_while_it_is_registered(self):
        self.agent.put("/v1/catalog/register", {
            "Node": "far", "Address": "10.9.0.1", "Service": {"Service": "db", "Port": 5432}})
        wait_until(lambda: self.ask("db.service.consul")[2] == ["10.9.0.1"], "the external service")
        self.assertEqual(self.ask("far.node.consul")[2], ["10.9.0.1"])
        self.agent.put("/v1/catalog/deregister", {"Node": "far"})
        wait_until(lambda: self.ask("db.service.consul")[0] == NXDOMAIN, "its end")


if __name__ == "__main__":
    consul_fixture.main()
