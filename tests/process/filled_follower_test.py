"""A follower without the keys gets the whole database while puts go on: by one snapshot, behind which the log goes on
until it keeps up. A member that replaced another one, and one that is re-seeded.

In full (docs/decisions/0054): KVORUM_FILL_MIB=2048 KVORUM_RATE_MIB=20 KVORUM_PUTS=20000, the puts' values of 256 bytes:
more is written during a transfer than the leader keeps of its log in memory. How many puts a second there are depends on
the machine: it is printed.

Otherwise a failpoint takes the leader's bound in memory for reached, and the transfer spans several compactions of the
log: only its segments help. KVORUM_FILL_POINTS="catchUpMemoryIsFull=return;catchUpSegmentsAreFull=return" takes them away
too, and the test must fail.
"""

import os
import re
import subprocess
import threading
import time
import unittest

from etcd3.etcdrpc import rpc_pb2

import cluster
import points
import server

BENCH = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-bench")
IN_FULL = "KVORUM_FILL_MIB" in os.environ
FILL_MIB = int(os.environ.get("KVORUM_FILL_MIB", "80"))
RATE_MIB = int(os.environ.get("KVORUM_RATE_MIB", "20"))
PUTS = int(os.environ.get("KVORUM_PUTS", "500"))  # a second
PUT_VALUE = 256
PUT_KEYS = 100_000
FILL_POINTS = os.environ.get("KVORUM_FILL_POINTS", "catchUpMemoryIsFull=return")
# A leader keeps as many entries, and between two compactions as many more. Fewer than are put during the transfer.
KEPT, MORE = (5_000, 10_000) if IN_FULL else (300, 300)
# So that the log's beginning is gone before the load begins.
FILL_VALUE = min(60_000, (FILL_MIB << 20) // (4 * (KEPT + MORE) // 3))
# The share of the puts asked for that there must be: the machine may be busy.
LEAST_SHARE = 1 / 4
# What the longest wait is for: the transfer at that rate.
PATIENCE = 120 + 4 * FILL_MIB / RATE_MIB


def bench(endpoint, *arguments):
    return subprocess.Popen([BENCH, "--endpoint", endpoint, *arguments, "put"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def anonymous_mib(member):
    with open(f"/proc/{member.process.pid}/status", encoding="ascii") as status:
        found = re.search(r"RssAnon:\s+(\d+)", status.read())
    return int(found[1]) // 1024 if found else 0


class Load:
    """Puts through the leader, on keys of their own, until the end."""

    def __init__(self, leader):
        self.leader = leader
        self.process = bench(leader.endpoint, "--rate", str(PUTS), "--seconds", "36000", "--connections", "4",
                             "--streams", "16", "--first-key", str(1 << 40), "--keys", str(PUT_KEYS),
                             "--value-size", str(PUT_VALUE))
        self.began = self.now()

    def now(self):
        return time.monotonic(), self.leader.wait_status().header.revision

    def rate_since(self, before):
        (begin, first), (end, last) = before, self.now()
        return (last - first) / (end - begin)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class Memory(threading.Thread):
    """The most anonymous memory, in MiB, that each of the members holds until the end."""

    def __init__(self, **members):
        super().__init__()
        self.members = members
        self.most = dict.fromkeys(members, 0)
        self.ends = threading.Event()

    def run(self):
        while not self.ends.wait(0.2):
            for name, member in self.members.items():
                if member.alive:
                    self.most[name] = max(self.most[name], anonymous_mib(member))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.join()


class FilledFollowerTest(unittest.TestCase):
    def setUp(self):
        # The next leader would begin anew, with a log that it has not kept: on a busy machine none must come by itself.
        flags = ("--heartbeat-interval", "500", "--election-timeout", "5000", "--snapshot-rate-bytes", str(RATE_MIB << 20),
                 "--quota-backend-bytes", str(16 << 30), "--snapshot-catchup-entries", str(KEPT), "--snapshot-count", str(MORE))
        self.members = cluster.Cluster(3, flags=flags)
        self.addCleanup(self.members.close)
        if not IN_FULL:
            for member in self.members.members:
                member.binary = points.BINARY
                member.environment["GOFAIL_FAILPOINTS"] = FILL_POINTS
        self.members.start()
        self.leader = self.members.leader()
        count = (FILL_MIB << 20) // FILL_VALUE
        filled = bench(self.leader.endpoint, "--value-size", str(FILL_VALUE), "--count", str(count), "--keys", str(count),
                       "--sequential", "--connections", "2", "--streams", "8")
        _, error = filled.communicate()
        self.assertEqual(filled.returncode, 0, error)
        self.members.check_equal(timeout=PATIENCE)

    def sent(self, member_id):
        """How many snapshots the leader has begun to send it."""
        return len(re.findall(rb'"sending database snapshot".*"remote-peer-id":"%x"' % member_id, self.leader.log()))

    def wait_even(self, member):
        """Until it is less than a second behind."""
        def is_even():
            ours = member.status(timeout=30)
            there = self.leader.status(timeout=30)
            return ours is not None and there is not None and ours.header.revision + PUTS > there.header.revision
        cluster.wait_until(is_even, f"{member.name} to catch up", timeout=PATIENCE)

    def follow(self, what, member, member_id, load, fill):
        """Tells how it went, from before `fill`."""
        begin, before = time.monotonic(), load.now()
        sent_before = self.sent(member_id)
        with Memory(leader=self.leader, follower=member) as memory:
            fill()
            filled = time.monotonic()
            rate = load.rate_since(before)
            self.wait_even(member)
            even = time.monotonic()
        self.assertIs(self.members.leader(), self.leader, "the leader changed")
        print(f"{what}: {FILL_MIB} MiB at {RATE_MIB} MiB/s with {PUTS} puts/s asked for: whole after {filled - begin:.1f} s, "
              f"at {rate:.0f} puts/s ({load.now()[1] - before[1]} in all), even {even - filled:.1f} s later; "
              f"anonymous memory at most {memory.most} MiB", flush=True)
        # It stays even, by the log alone.
        time.sleep(3)
        self.wait_even(member)
        self.assertEqual(self.sent(member_id) - sent_before, 1)
        self.assertGreater(rate, LEAST_SHARE * PUTS)
        self.assertGreater(load.now()[1] - before[1], 2 * (KEPT + MORE), "the log was not compacted meanwhile")

    def test_one_that_replaces_another(self):
        with Load(self.leader) as load:
            old = self.members.followers()[0]
            identity = old.wait_status().header.member_id
            self.members.change("MemberRemove", rpc_pb2.MemberRemoveRequest(ID=identity), without=old)
            old.process.wait(30)
            self.members.forget(old)
            new = self.members.new_member("new")
            self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[new.peer_url]))
            identity = next(m.ID for m in self.members.listed() if m.peerURLs == [new.peer_url])
            self.follow("replaced", new, identity, load, lambda: new.start(timeout=PATIENCE))
        self.members.check_equal(timeout=PATIENCE)
        self.members.check_logs()

    def test_one_that_is_re_seeded(self):
        with Load(self.leader) as load:
            member = self.members.followers()[0]
            identity = member.wait_status().header.member_id
            self.follow("re-seeded", member, identity, load, lambda: self.members.ctl(
                "member", "reseed", endpoints=[member.endpoint], timeout=PATIENCE))
        self.members.check_equal(timeout=PATIENCE)
        self.members.check_logs()


if __name__ == "__main__":
    unittest.main(verbosity=2)
