#!/usr/bin/env python3
"""The programs of examples/, over kvorum and over the packaged etcd."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "process"))

import cluster  # noqa: E402
import ctl  # noqa: E402
import ports  # noqa: E402
import talker  # noqa: E402

BIN = os.environ["KVORUM_BIN_DIR"]


class Planes:
    """A control plane that serves the prefix /dp/ as the type dp."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.address = f"127.0.0.1:{ports.free_ports(1)[0]}"
        self.server = None
        self.start()

    def start(self):
        self.server = talker.Talker(
            [os.path.join(BIN, "example-control-plane"), self.endpoint, self.address, "dp=/dp/"])
        assert self.server.line().startswith("listening on ")

    def restart(self):
        self.server.kill()
        self.start()

    def subscribe(self, node):
        return talker.Talker([os.path.join(BIN, "example-data-plane"), self.address, node, "dp"])

    def put(self, name, text):
        ctl.succeed(self.endpoint, "put", "/dp/" + name, text)

    def delete(self, name):
        ctl.succeed(self.endpoint, "del", "/dp/" + name)


class Examples:
    endpoint = None

    def setUp(self):
        ctl.succeed(self.endpoint, "del", "--prefix", "/dp/")
        self.planes = Planes(self.endpoint)

    def tearDown(self):
        self.planes.server.kill()

    def test_two_data_planes_each_get_what_is_theirs(self):
        self.planes.put("a", "for all")
        with self.planes.subscribe("zone-1") as one, self.planes.subscribe("zone-2") as two:
            self.assertEqual([one.line(), two.line()], ["dp a = for all"] * 2)
            self.planes.put("b", "zone-1 alone")
            self.assertEqual(one.line(), "dp b = zone-1 alone")
            self.planes.put("b", "zone-2 alone")
            self.assertEqual([one.line(), two.line()], ["dp b is gone", "dp b = zone-2 alone"])
            self.planes.put("c", "bad")
            self.planes.delete("a")
            self.assertEqual([one.line(), two.line()], ["dp a is gone"] * 2)
            self.assertEqual([one.terminate(), two.terminate(), self.planes.server.terminate()], [0, 0, 0])

    def test_after_a_restart_of_the_control_plane_only_differences_come(self):
        self.planes.put("a", "1")
        with self.planes.subscribe("zone-1") as one:
            self.assertEqual(one.line(), "dp a = 1")
            self.planes.restart()
            self.planes.put("b", "1")
            self.assertEqual(one.line(), "dp b = 1")


class KvorumTest(Examples, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.members = cluster.Cluster(1)
        cls.members.start()
        cls.endpoint = cls.members.endpoints[0]

    @classmethod
    def tearDownClass(cls):
        cls.members.close()


class EtcdTest(Examples, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.etcd = ctl.Etcd().__enter__()
        cls.endpoint = cls.etcd.endpoint

    @classmethod
    def tearDownClass(cls):
        cls.etcd.__exit__()


if __name__ == "__main__":
    unittest.main(verbosity=2)
