"""Watches through a member that is cut off from the others go on through one that is not.

Each member is on a host of its own (network.py); the probes reach all of them all the time.
"""

import os
import pathlib
import re
import sys
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

from etcd3.etcdrpc import rpc_pb2  # noqa: E402

import cluster  # noqa: E402
import network  # noqa: E402
import server  # noqa: E402
from real_server_test import ETCD, KVORUM, Probe  # noqa: E402


class WatchesBesideAPartition:
    binary = None

    def watchers(self, member):
        with urllib.request.urlopen(f"http://{member.endpoint}/metrics", timeout=10) as page:
            return float(re.search(r"^etcd_debugging_mvcc_watcher_total (\S+)$", page.read().decode(), re.M)[1])

    def test_S5_a_watch_on_a_member_that_is_cut_off_goes_on_through_another(self):
        wire = network.Network()
        self.addCleanup(wire.close)
        members = cluster.Cluster(3, network=wire)
        self.addCleanup(members.close)
        for member in members.members:
            member.binary = self.binary
        members.start()
        members.leader()
        probes = []
        for _ in range(4):
            probes.append(Probe(",".join(members.endpoints), "/a/"))
            self.addCleanup(probes[-1].close)
            probes[-1].until("listed")
            probes[-1].tell("tell changes")
        # Which members a client watches through depends on which of its connections came up first.
        cluster.wait_until(lambda: sum(map(self.watchers, members.members)) >= len(probes), "the watches")
        cut_off = max(members.members, key=self.watchers)
        others = [m for m in members.members if m is not cut_off]
        wire.part([cut_off.host], [m.host for m in others])
        cluster.wait_until(lambda: cut_off.wait_status().leader == 0, "it to lose its leader")
        with members.leader(among=others).channel() as channel:
            done = server.kv(channel).Put(rpc_pb2.PutRequest(key=b"/a/1", value=b"x"), timeout=10)
        for probe in probes:
            probe.until(f"rev {done.header.revision} .*")  # of the source
            if "told +/a/1 x" not in probe.lines:  # of the informer
                probe.until(r"told \+/a/1 x")


class KvorumTest(WatchesBesideAPartition, unittest.TestCase):
    binary = KVORUM


@unittest.skipUnless(os.path.exists(ETCD), "there is no etcd of this version")
class EtcdTest(WatchesBesideAPartition, unittest.TestCase):
    binary = ETCD


if __name__ == "__main__":
    network.run_isolated()
