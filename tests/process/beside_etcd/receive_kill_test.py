"""A real process that is killed at random moments while it receives a snapshot comes back each time, and agrees with the
others in the end: a follower of kvorum behind a leader of kvorum, and behind one of etcd 3.7.

Every other kill comes at any moment of the whole start, the rest once the first bytes of a snapshot have come: on a
busy machine the leader's first try may be seconds away, and kills at any moment alone would all come before it.

A round takes some four seconds: an election, four starts, and the leader's second try. By hand, more of them are made
with KVORUM_ROUNDS.
"""

import os
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import server  # noqa: E402
from mixed_snapshots_test import ETCD, SHORT_LOG, has_peer  # noqa: E402

SEED = int(os.environ.get("KVORUM_SEED", random.randrange(1 << 32)))
ROUNDS = int(os.environ.get("KVORUM_ROUNDS", "4"))
LARGE = 40  # keys of a megabyte: what a snapshot has at least
RATE_MIB = 60  # a second


class ReceiveKillTest(unittest.TestCase):
    def begin(self, senders, *flags):
        """The first two members are of that program, the last one is killed."""
        self.rng = random.Random(SEED)
        self.members = cluster.Cluster(3, flags=(*SHORT_LOG, *flags))
        self.addCleanup(self.members.close)
        *self.others, self.victim = self.members.members
        for member in self.others:
            member.binary = senders
        self.members.start()
        self.victim.kill()
        with self.members.leader().channel() as channel:
            for number in range(LARGE):
                server.put(server.kv(channel), b"large %d" % number, self.rng.randbytes(1 << 20))
        self.write_much()

    def write_much(self):
        """More entries than the leader keeps for who is slow."""
        leader = self.members.leader()
        before = leader.status().raftIndex
        with leader.channel() as channel:
            for number in range(120):
                server.put(server.kv(channel), b"small %d" % number, self.rng.randbytes(10))
        self.members.wait_log_cut(leader, before)

    def fall_behind(self):
        """A leader keeps its log for half a minute once it has sent a snapshot, unless it is another process by then. Which
        of the two sent the last one is not known: on a busy machine the leader changes by itself."""
        self.victim.kill()
        for member in self.others:
            member.kill()
        for member in self.others:
            member.launch()
        for member in self.others:
            member.wait_ready()
        self.write_much()

    def has_begun(self):
        return b"receiving a snapshot" in self.victim.log()

    def has_ended(self):
        return b"applied snapshot" in self.victim.log()

    def kill_at_any_moment(self, took):
        time.sleep(self.rng.random() * took)
        self.victim.kill()

    def kill_while_receiving(self, took):
        cluster.wait_until(self.has_begun, "the first bytes of a snapshot")
        time.sleep(self.rng.random() * took / 2)
        self.victim.kill()

    def story(self, shortest=None):
        """A snapshot takes `shortest` seconds at least, if that is known: then every kill that should falls within one."""
        begin = time.monotonic()
        self.victim.start()
        cluster.wait_until(self.has_begun, "the first bytes of a snapshot")
        begun = time.monotonic()
        cluster.wait_until(self.has_ended, "a snapshot")
        ended = time.monotonic()
        receiving, meant = 0, 0
        for number in range(ROUNDS):
            self.fall_behind()
            self.victim.launch()
            if number % 2 == 0:
                self.kill_while_receiving(shortest or ended - begun)
                meant += 1
            else:
                self.kill_at_any_moment(ended - begin)
            receiving += self.has_begun() and not self.has_ended()
            self.victim.start()
        print(f"{receiving} of {ROUNDS} kills came while a snapshot was received", flush=True)
        self.assertGreaterEqual(receiving, meant if shortest else 1)
        self.members.check_equal()
        self.members.check_logs()

    def test_behind_a_leader_of_ours(self):
        self.begin(server.BINARY, "--snapshot-rate-bytes", str(RATE_MIB << 20))
        self.story(shortest=LARGE / RATE_MIB)

    @unittest.skipUnless(has_peer(), "there is no etcd of 3.7")
    def test_behind_a_leader_of_etcd(self):
        self.begin(ETCD)
        self.story()


if __name__ == "__main__":
    print(f"KVORUM_SEED={SEED}", flush=True)
    unittest.main()
