#!/usr/bin/env python3
"""python-consul2, unmodified."""

import base64
import pathlib
import sys
import threading
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import consul_fixture  # noqa: E402
from consul_fixture import wait_until  # noqa: E402


class PythonConsulTest(consul_fixture.ConsulCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(consul_fixture.client("python")))
        global consul
        import consul  # noqa: E402  pylint: disable=import-outside-toplevel
        super().setUpClass()

    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore", DeprecationWarning)  # that parts of the API are old
        self.client = consul.Consul(host=self.agent.host, port=self.agent.port)
        self.addCleanup(self.client.http.session.close)

    def healthy(self, name):
        return [node["Service"]["ID"] for node in self.client.health.service(name, passing=True)[1]]

    def test_it_registers_a_service_and_reports_about_it(self):
        self.assertTrue(self.client.agent.service.register(
            "web", service_id="web-1", address="10.0.0.1", port=80, tags=["a", "b"], meta={"k": "v"},
            check=consul.Check.ttl("30s")))
        self.assertEqual(self.client.agent.services()["web-1"]["Port"], 80)
        index, nodes = self.client.health.service("web")
        self.assertGreater(int(index), 0)
        self.assertEqual([(node["Node"]["Node"], node["Service"]["Tags"], node["Service"]["Meta"]) for node in nodes],
                         [("n1", ["a", "b"], {"k": "v"})])
        self.assertEqual({check["CheckID"]: check["Status"] for check in nodes[0]["Checks"]},
                         {"serfHealth": "passing", "service:web-1": "critical"})
        self.assertEqual(self.healthy("web"), [])
        self.assertTrue(self.client.agent.check.ttl_pass("service:web-1", "fine"))
        wait_until(lambda: self.healthy("web") == ["web-1"], "healthy instance")
        self.assertTrue(self.client.agent.check.ttl_warn("service:web-1"))
        wait_until(lambda: self.client.agent.checks()["service:web-1"]["Status"] == "warning", "warning")
        self.assertTrue(self.client.agent.check.ttl_fail("service:web-1", "broken"))
        wait_until(lambda: [check["Output"] for check in self.client.health.checks("web")[1]] == ["broken"], "output")
        self.assertEqual(self.client.health.node("n1")[1][0]["Node"], "n1")
        self.assertEqual([check["CheckID"] for check in self.client.health.state("critical")[1]], ["service:web-1"])
        self.assertTrue(self.client.agent.service.deregister("web-1"))
        wait_until(lambda: not self.client.health.service("web")[1], "end of the service")

    def test_it_sets_maintenance(self):
        self.client.agent.service.register("web")
        wait_until(lambda: self.healthy("web") == ["web"], "healthy instance")
        self.client.agent.service.maintenance("web", "true", "repairs")
        wait_until(lambda: not self.healthy("web"), "maintenance")
        self.client.agent.service.maintenance("web", "false")
        wait_until(lambda: self.healthy("web") == ["web"], "end of maintenance")
        self.client.agent.maintenance("true")
        wait_until(lambda: not self.healthy("web"), "maintenance of the node")
        self.client.agent.maintenance("false")
        wait_until(lambda: self.healthy("web") == ["web"], "end of the node's maintenance")

    def test_it_reads_and_writes_the_catalog(self):
        self.assertEqual(self.client.agent.self()["Config"]["NodeName"], "n1")
        self.assertEqual([member["Name"] for member in self.client.agent.members()], ["n1"])
        datacenter = self.client.catalog.datacenters()
        self.assertEqual(len(datacenter), 1)
        self.assertTrue(self.client.catalog.register("far", "10.9.0.1", service={"service": "db", "port": 5432, "tags": ["x"]},
                                                     check={"Name": "db up", "ServiceID": "db", "Status": "passing"}))
        index, services = self.client.catalog.services()
        self.assertGreater(int(index), 0)
        self.assertEqual(services["db"], ["x"])
        self.assertEqual(sorted(node["Node"] for node in self.client.catalog.nodes()[1]), ["far", "n1"])
        self.assertEqual(self.client.catalog.service("db")[1][0]["ServicePort"], 5432)
        self.assertEqual(list(self.client.catalog.node("far")[1]["Services"]), ["db"])
        self.assertIsNone(self.client.catalog.node("nobody")[1])
        self.assertEqual(self.client.catalog.service("nobody")[1], [])
        self.assertEqual(self.healthy("db"), ["db"])
        self.assertTrue(self.client.catalog.deregister("far"))
        self.assertEqual(self.client.catalog.service("db")[1], [])

    def test_it_uses_keys(self):
        index, data = self.client.kv.get("none")
        self.assertIsNone(data)
        self.assertGreater(int(index), 0)  # a missing header would be an error
        self.assertTrue(self.client.kv.put("a/1", "one", flags=7))
        self.assertTrue(self.client.kv.put("a/2", b"\0\xff"))
        data = self.client.kv.get("a/1")[1]
        self.assertEqual((data["Value"], data["Flags"], data["LockIndex"]), (b"one", 7, 0))
        self.assertEqual([each["Value"] for each in self.client.kv.get("a/", recurse=True)[1]], [b"one", b"\0\xff"])
        self.assertEqual(self.client.kv.get("a", keys=True, separator="/")[1], ["a/"])
        self.assertFalse(self.client.kv.put("a/1", "uno", cas=data["ModifyIndex"] - 1))
        self.assertTrue(self.client.kv.put("a/1", "uno", cas=data["ModifyIndex"]))
        self.assertFalse(self.client.kv.put("a/1", "", cas=0))
        self.assertTrue(self.client.kv.delete("a/", recurse=True))
        self.assertIsNone(self.client.kv.get("a/1")[1])

    def test_it_waits_for_a_key(self):
        index, _ = self.client.kv.get("k")
        found = []

        def follow():
            found.append(self.client.kv.get("k", index=index, wait="30s"))
        thread = threading.Thread(target=follow)
        begin = time.monotonic()
        thread.start()
        other = consul.Consul(host=self.agent.host, port=self.agent.port)
        self.addCleanup(other.http.session.close)
        other.kv.put("elsewhere", "x")
        other.kv.put("k", "v")
        thread.join(timeout=30)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertGreater(int(found[0][0]), int(index))
        self.assertEqual(found[0][1]["Value"], b"v")

    def test_it_locks_by_a_session(self):
        session = self.client.session.create("mine", ttl=10, lock_delay=0)
        self.assertEqual(self.client.session.info(session)[1]["Name"], "mine")
        self.assertTrue(self.client.kv.put("lock", "me", acquire=session))
        other = self.client.session.create(ttl=10)
        self.assertFalse(self.client.kv.put("lock", "you", acquire=other))
        self.assertEqual(self.client.kv.get("lock")[1]["Session"], session)
        self.assertEqual(self.client.session.renew(session)["ID"], session)
        self.assertEqual(len(self.client.session.list()[1]), 2)
        self.assertEqual(len(self.client.session.node("n1")[1]), 2)
        self.assertTrue(self.client.session.destroy(session))
        wait_until(lambda: "Session" not in self.client.kv.get("lock")[1], "end of the lock")
        self.assertTrue(wait_until(lambda: self.client.kv.put("lock", "you", acquire=other), "other's lock"))
        self.assertTrue(self.client.kv.put("lock", "free", release=other))
        self.assertIsNone(self.client.session.info(session)[1])
        with self.assertRaises(consul.NotFound):
            self.client.session.renew(session)

    def test_it_uses_transactions(self):
        def operation(verb, key, value=b"", **more):
            return {"KV": {"Verb": verb, "Key": key, "Value": base64.b64encode(value).decode(), **more}}
        done = self.client.txn.put([operation("set", "t/1", b"one"), operation("get", "t/1")])
        self.assertIsNone(done["Errors"])
        self.assertEqual(done["Results"][1]["KV"]["Value"], base64.b64encode(b"one").decode())
        with self.assertRaises(consul.base.ClientError):
            self.client.txn.put([operation("set", "t/2"), operation("cas", "t/1", Index=1)])
        self.assertIsNone(self.client.kv.get("t/2")[1])

    def test_what_is_refused_has_a_class_and_a_text(self):
        with self.assertRaisesRegex(consul.ConsulException, "No path to datacenter"):
            self.client.catalog.nodes(dc="elsewhere")
        with self.assertRaisesRegex(consul.base.BadRequest, "Invalid index"):
            self.client.kv.get("k", index="x")
        with self.assertRaises(consul.ConsulException):
            self.client.event.fire("deploy")

    def test_its_status(self):
        self.assertRegex(self.client.status.leader(), r"^.+:8300$")
        self.assertTrue(self.client.status.peers())


if __name__ == "__main__":
    consul_fixture.main()
