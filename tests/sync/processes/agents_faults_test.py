"""Agents in numbers beside a cluster of three: they register, what runs on them changes, they die with their process, and
members of the cluster die too. The catalog is equal to the truth, which sync-agents-probe tells, within the agents' time
to live and two seconds; the same holds for the keys of those who died. Full syncs are spread.

Fault model: one member is down at a time. When the leader is gone the new one lets every lease live for its whole time
again; so agents die while there is a leader.

$KVORUM_SYNC_AGENTS_S is for how many seconds 1,000 agents live with a time to live of 15 s; without it, 100 of them live
for some seconds with one of 3 s.
"""

import json
import os
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import grpc  # noqa: E402
from etcd3.etcdrpc import rpc_pb2  # noqa: E402

import cluster  # noqa: E402
import server  # noqa: E402
import talk  # noqa: E402

ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
SECONDS = int(os.environ.get("KVORUM_SYNC_AGENTS_S", "0"))
PROCESSES = 4 if SECONDS else 2
NODES = 250 if SECONDS else 50  # of each process
TTL_S = 15 if SECONDS else 3
CHANGES_PER_S = 25 if SECONDS else 20  # of each process
START_S = 30 if SECONDS else 1
ROOT = "/kvorum"
MOST_OF_A_SECOND = PROCESSES * NODES // 20


class AgentsInNumbers:
    """The test; its heirs name the server's program."""

    binary = None

    def setUp(self):
        self.chance = random.Random(20)
        self.cluster = cluster.Cluster(3)
        for member in self.cluster.members:
            member.binary = self.binary
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.channels = [member.channel() for member in self.cluster.members]
        for channel in self.channels:
            self.addCleanup(channel.close)
        self.fulls, self.errors, self.times = {}, 0, {}
        self.probes = [self.start(number) for number in range(PROCESSES)]

    def start(self, number):
        probe = talk.Talk("sync-agents-probe", ",".join(self.cluster.endpoints), ROOT, number * NODES, NODES, TTL_S,
                          CHANGES_PER_S, START_S)
        self.addCleanup(probe.close)
        return probe

    def keys(self, kind):
        """{key without the prefix: value} under ROOT/kind/, or None if no member answers."""
        prefix = f"{ROOT}/{kind}/".encode()
        for channel in self.chance.sample(self.channels, len(self.channels)):
            try:
                answer = server.kv(channel).Range(
                    rpc_pb2.RangeRequest(key=prefix, range_end=prefix[:-1] + b"0"), timeout=2)
            except grpc.RpcError:
                continue
            return {kv.key[len(prefix):].decode(): kv.value for kv in answer.kvs}
        return None

    def catalog(self):
        """As sync-agents-probe tells it; the services tell the same."""
        entries, services, nodes = (self.keys(kind) for kind in ("catalog", "services", "nodes"))
        if entries is None or services is None or nodes is None:
            return None
        told, told_by_service = {node: {} for node in nodes}, {}
        for key, value in entries.items():
            node, number = key.split("/")
            record = json.loads(value)
            told.setdefault(node, {})[number] = [record["name"], record["value"], record["checks"][0]["status"]]
            told_by_service[f"{record['name']}/{node}.{number}"] = value
        return told if told_by_service == services else None

    def wait_equal(self, what, within_s):
        """Until the catalog is equal to what the living processes tell, among which nothing changes from here on."""
        begin = time.monotonic()
        truth = {}
        for probe in self.probes:
            truth.update(json.loads(probe.ask("truth")))
        cluster.wait_until(lambda: self.catalog() == truth, f"the catalog to be equal: {what}", within_s)
        self.note(what, time.monotonic() - begin)
        for probe in self.probes:
            probe.ask("change")

    def note(self, what, seconds):
        self.times[what] = max(self.times.get(what, 0), seconds)

    def take_state(self, probe):
        state = json.loads(probe.ask("state"))
        self.errors += state["errors"]
        for second, count in state["fulls"].items():
            self.fulls[second] = self.fulls.get(second, 0) + count

    def a_process_is_killed(self):
        """Its agents are gone within their time to live and two seconds; then they come back."""
        number = self.chance.randrange(PROCESSES)
        self.take_state(self.probes[number])
        self.probes[number].close()
        killed = time.monotonic()
        dead = {f"node-{number * NODES + i:05d}" for i in range(NODES)}
        self.probes[number:number + 1] = []

        def are_gone():
            catalog = self.catalog()
            return catalog is not None and not dead & set(catalog)
        cluster.wait_until(are_gone, "the dead to be gone", TTL_S + 2)
        self.note("dead agents gone", time.monotonic() - killed)
        self.wait_equal("after agents died", TTL_S + 2)
        self.probes.insert(number, self.start(number))
        time.sleep(START_S)
        self.wait_equal("after agents came back", TTL_S + 2)

    def a_member_is_killed(self):
        member = self.cluster.leader() if self.chance.random() < 0.5 else self.chance.choice(self.cluster.members)
        member.kill()
        time.sleep(1)
        member.start()
        self.wait_equal("after a member died", TTL_S + 2)

    def test_A20_the_catalog_is_equal_to_the_truth_and_full_syncs_are_spread(self):
        time.sleep(START_S)
        self.wait_equal("after the start", TTL_S + 2)
        end = time.monotonic() + SECONDS
        while True:
            time.sleep(20 if SECONDS else 1)
            self.wait_equal("while agents change", TTL_S + 2)
            self.a_member_is_killed()
            time.sleep(TTL_S if SECONDS else 0)  # until every lease has been renewed with this leader
            self.a_process_is_killed()
            if time.monotonic() >= end:
                break
        for probe in self.probes:
            self.take_state(probe)
            self.assertEqual(probe.end(), ([], 0))
        self.cluster.check_logs()
        most = max(self.fulls.values())
        print(f"{self.id()}: {sum(self.fulls.values())} full syncs, {most} in the second that had most; "
              f"{self.errors} errors; seconds at most: {self.times}", flush=True)
        self.assertGreaterEqual(sum(self.fulls.values()), PROCESSES * NODES)
        if SECONDS:  # agents that start within a second sync within it
            self.assertLessEqual(most, MOST_OF_A_SECOND)


class KvorumTest(AgentsInNumbers, unittest.TestCase):
    binary = server.BINARY


@unittest.skipUnless(os.path.exists(ETCD), "there is no etcd of this version")
class EtcdTest(AgentsInNumbers, unittest.TestCase):
    binary = ETCD


if __name__ == "__main__":
    unittest.main()
