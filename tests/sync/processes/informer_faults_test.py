"""An informer beside a cluster of three that suffers: members are killed, the leader moves, the history is compacted,
the informer's own connections break, its tokens expire, while a writer changes the prefix all the time.

Nothing may come after something newer, nothing may be missed, and the copy takes at most 2.5 times its bytes.
sync-fault-probe checks the first as it is told, and compares its copy with the store.

Fault model: one member is down at a time, so that there is a majority; disks keep what was synced. The informer's
connections may be gone altogether, for longer than the history lasts.

$KVORUM_SYNC_FAULTS_S is for how many seconds random faults come, over 100,000 keys with 2,000 changes a second. Without
it each fault comes once, over 5,000 keys with 500 changes a second.
"""

import json
import os
import pathlib
import random
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import grpc  # noqa: E402
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc  # noqa: E402

import client_path  # noqa: E402
import cluster  # noqa: E402
import server  # noqa: E402
import talk  # noqa: E402

ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
FAULTS_S = int(os.environ.get("KVORUM_SYNC_FAULTS_S", "0"))
KEYS, CHANGES_PER_S = (100_000, 2_000) if FAULTS_S else (5_000, 500)
# Of revisions. The library's own for the keys that it is meant for; fewer keys weigh less than such a window.
WINDOW = 2048 if FAULTS_S else 64
PREFIX = "/registry/workers/"
ROOT = ("root", "secret")
TOKEN_TTL_S = 2


class InformerUnderFaults:
    """The test; its heirs name the server's program."""

    binary = None

    def setUp(self):
        self.chance = random.Random(18)
        self.cluster = cluster.Cluster(3, flags=(
            *cluster.QUICK, "--auth-token", "simple", "--auth-token-ttl", str(TOKEN_TTL_S), "--bcrypt-cost", "4"))
        for member in self.cluster.members:
            member.binary = self.binary
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.paths = [client_path.Path(member.client_port) for member in self.cluster.members]
        for path in self.paths:
            self.addCleanup(path.close)
        self.enable_auth()
        self.faults = {}

    def enable_auth(self):
        with self.cluster.members[0].channel() as channel:
            auth = rpc_pb2_grpc.AuthStub(channel)
            auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=ROOT[0], password=ROOT[1]), timeout=10)
            auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="root"), timeout=10)
            auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user=ROOT[0], role="root"), timeout=10)
            auth.AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=10)
        cluster.caller = ROOT
        self.addCleanup(setattr, cluster, "caller", None)

    def start(self, program, *arguments):
        started = talk.Talk(program, *arguments, *ROOT)
        self.addCleanup(started.close)
        return started

    def call(self, call):
        """An answer of whichever member gives one."""
        def attempt():
            for member in self.chance.sample(self.cluster.alive, len(self.cluster.alive)):
                with member.channel() as channel:
                    try:
                        return call(channel)
                    except grpc.RpcError:
                        pass
            return None
        return cluster.wait_until(attempt, "an answer")

    def revision(self):
        return self.call(lambda channel: server.kv(channel).Range(
            rpc_pb2.RangeRequest(key=b"x"), timeout=2)).header.revision

    def compact(self, revision):
        """It may have been compacted so far already, by an attempt whose answer was lost."""
        def attempt(channel):
            try:
                server.kv(channel).Compact(rpc_pb2.CompactionRequest(revision=revision), timeout=5)
            except grpc.RpcError as error:
                if "compacted" not in error.details():
                    raise
            return True
        if revision > 0:
            self.call(attempt)

    # The faults. Each leaves a cluster of three that answers, and paths that are whole.

    def kill(self, member, down_s):
        member.kill()
        time.sleep(down_s)
        member.start()
        cluster.wait_until(lambda: member.status() is not None, "it to answer")

    def a_follower_is_killed(self):
        self.kill(self.chance.choice(self.cluster.followers()), 0.3)

    def the_leader_is_killed(self):
        self.kill(self.cluster.leader(), 0.3)

    def the_leader_moves(self):
        leader = self.cluster.leader()
        target = self.chance.choice([m for m in self.cluster.alive if m is not leader])
        with leader.channel() as channel:
            server.maintenance(channel).MoveLeader(
                rpc_pb2.MoveLeaderRequest(targetID=target.wait_status().header.member_id), timeout=10)

    def the_informer_is_cut_off_beyond_the_history(self):
        for path in self.paths:
            path.refuse()
        time.sleep(0.5)  # in which something is written
        self.compact(self.revision())
        for path in self.paths:
            path.accept()

    def the_informer_is_cut_off_for_a_while(self):
        for path in self.paths:
            path.refuse()
        time.sleep(TOKEN_TTL_S + 0.3 if FAULTS_S else 0.3)
        for path in self.paths:
            path.accept()

    def the_paths_stall(self):
        for path in self.paths:
            path.stall()
        time.sleep(1)
        for path in self.paths:
            path.flow()

    def the_paths_lose_everything(self):
        for path in self.paths:
            path.cut()
        time.sleep(0.5)
        for path in self.paths:
            path.mend()

    # Beyond what the client's keep-alive takes to notice: it has to go on through the others.
    def a_path_loses_everything_for_long(self):
        path = self.chance.choice(self.paths)
        path.cut()
        time.sleep(25)
        path.mend()

    ONCE = (a_follower_is_killed, the_informer_is_cut_off_beyond_the_history, the_leader_moves, the_paths_stall,
            the_paths_lose_everything, the_leader_is_killed)
    RANDOM = (*ONCE, the_informer_is_cut_off_for_a_while)

    def suffer(self, fault):
        fault(self)
        self.faults[fault.__name__] = self.faults.get(fault.__name__, 0) + 1

    def test_nothing_older_comes_after_something_newer_and_nothing_is_missed(self):
        direct = ",".join(self.cluster.endpoints)
        writer = self.start("sync-fault-writer", direct, PREFIX, KEYS, CHANGES_PER_S)
        self.assertEqual(writer.read(), "filled")
        probe = self.start("sync-fault-probe", ",".join(path.endpoint for path in self.paths), direct, PREFIX, KEYS,
                           WINDOW)
        self.assertEqual(probe.ask("listed"), "listed")
        if FAULTS_S:
            self.suffer_for_long(probe)
        else:
            for fault in self.ONCE:
                self.suffer(fault)
                self.compare(probe)
        (wrote,), code = writer.end()
        self.assertEqual(code, 0)
        self.assertRegex(probe.ask("end"), "^equal ")
        state = json.loads(probe.ask("state"))
        resident = probe.resident_bytes()
        self.assertEqual(probe.end(), ([], 0))
        self.cluster.check_logs()
        print(f"{self.id()}: {wrote}; {self.faults}; {state}; the probe's memory at its largest: {resident >> 20} MiB",
              flush=True)
        self.check(state, probe.said)

    def compare(self, probe):
        """The copy at a revision that it has had; one that the store has lost meanwhile says nothing."""
        while "compacted" in (answer := probe.ask("compare")):
            pass
        self.assertRegex(answer, "^equal ")

    def check(self, state, said):
        self.assertEqual(said, [])
        for listener in ("every", "slow", "dropping"):
            self.assertEqual(state[listener]["wrong"], 0)
        # What each was meant to meet.
        self.assertGreater(state["every"]["told"], KEYS)
        self.assertEqual(state["every"]["overflows"], 0)
        self.assertGreater(state["slow"]["overflows"], 0)
        self.assertGreater(state["dropping"]["overflows"], 0)
        self.assertGreaterEqual(state["relists"], 1)
        if FAULTS_S:  # beside fewer keys the connections' buffers weigh too much
            self.assertLessEqual(state["held"], 2.5 * state["bytes"])

    def suffer_for_long(self, probe):
        end = time.monotonic() + FAULTS_S
        over = threading.Event()
        compactor = threading.Thread(target=self.keep_history_short, args=(over,))
        compactor.start()
        for fault in (InformerUnderFaults.a_path_loses_everything_for_long, *self.ONCE):
            self.suffer(fault)
            self.compare(probe)
        while time.monotonic() < end:
            self.suffer(self.chance.choice(self.RANDOM))
            self.compare(probe)
            time.sleep(self.chance.uniform(0, 4))
        over.set()
        compactor.join()

    def keep_history_short(self, over):
        while not over.wait(5):
            self.compact(self.revision() - 2 * CHANGES_PER_S)


class KvorumTest(InformerUnderFaults, unittest.TestCase):
    binary = server.BINARY


@unittest.skipUnless(os.path.exists(ETCD), "there is no etcd of this version")
class EtcdTest(InformerUnderFaults, unittest.TestCase):
    binary = ETCD


if __name__ == "__main__":
    unittest.main()
