#!/usr/bin/env python3
"""kvorumctl's agent and informer beside clusters of three, kvorum's and those of the etcd of $KVORUM_PEER_DIR, one of
whose members is killed while both run."""

import json
import pathlib
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import ctl  # noqa: E402
from long_run import LongRun  # noqa: E402
from real_server_test import ETCD, KVORUM, Cluster  # noqa: E402


class CommandsBesideALostMember:
    """The test; its heirs name a kind of server."""

    def setUp(self):
        self.cluster = Cluster(self.binary, 3)
        self.addCleanup(self.cluster.close)
        folder = tempfile.TemporaryDirectory(prefix="kvorum-loss-")
        self.addCleanup(folder.cleanup)
        self.socket = str(pathlib.Path(folder.name) / "socket")

    def start(self, *arguments):
        running = LongRun(self.cluster.endpoints, *arguments)
        self.addCleanup(lambda: running.process.poll() is None and running.end(signal.SIGKILL))
        return running

    def register(self, number):
        entry = json.dumps({"id": number, "name": "web", "value": f"10.0.0.1:{number}"})
        done = ctl.run(self.cluster.endpoints, "agent", "register", "-", "--socket", self.socket, stdin=entry)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_both_go_on_whichever_member_is_killed(self):
        agent = self.start("agent", "run", "--node", "n1", "--root", "/r", "--ttl", "10s", "--socket", self.socket)
        agent.wait_for("synced")
        informer = self.start("informer", "run", "/r/catalog/")
        informer.wait_for("synced")
        # Both are at one member, and one is the leader: each is gone once.
        for number in range(3):
            self.register(f"{number}before")
            informer.wait_for("add", key=f"/r/catalog/n1/{number}before")
            self.cluster.nodes[number].kill()
            self.register(f"{number}after")
            informer.wait_for("add", key=f"/r/catalog/n1/{number}after")
            self.cluster.nodes[number].start()
            self.cluster.wait_for(number)
        # A write whose answer went down with its member is made again: an update that changes nothing.
        added = {event["key"]: event["value"] for event in informer.told if event["event"] == "add"}
        self.assertEqual([event for event in informer.told if event["event"] == "delete" or
                          event["event"] == "update" and event["value"] != added[event["key"]]], [])
        self.assertEqual(len([event for event in informer.told if event["event"] == "add"]), 6)
        done = ctl.run(self.cluster.endpoints, "agent", "leave", "--socket", self.socket)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for _ in range(6):
            informer.wait_for("delete")
        self.assertEqual(agent.wait()[0], 0)
        self.assertEqual(informer.end()[0], 0)


class KvorumTest(CommandsBesideALostMember, unittest.TestCase):
    binary = KVORUM


@unittest.skipUnless(ctl.etcd_is_here(), "there is no etcd of this version")
class EtcdTest(CommandsBesideALostMember, unittest.TestCase):
    binary = ETCD


if __name__ == "__main__":
    unittest.main()
