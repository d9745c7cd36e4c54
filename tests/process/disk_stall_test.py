"""A leader's disk that stalls: another member leads within three election time-outs, long before it wakes up, writes go
on through that one, and nothing that was acknowledged is lost (docs/architecture.md, failures). faulty_calls.cc is
preloaded.

(The stall lasts ten seconds, and this test as long.)
"""

import os
import pathlib
import time
import unittest

import cluster
import history

PRELOADED = os.path.join(os.environ["KVORUM_BIN_DIR"], "libkvorum_faulty_calls.so")
STALL_SECONDS = 10
ELECTION_TIMEOUT_SECONDS = 1


class DiskStallTest(history.HistoryCase):
    def setUp(self):
        members = cluster.Cluster(3, ("--backend-batch-interval", "20ms"))
        for member in members.members:
            member.stall = pathlib.Path(members.folder, f"{member.name}.stall")
            member.environment = {"LD_PRELOAD": PRELOADED, "KVORUM_STALL": str(member.stall)}
        self.begin(members)

    def test_writes_go_on_through_another_leader(self):
        self.history.start_clients(self.members.endpoints)
        self.history.wait_more(100)
        stalled = self.members.leader()
        began = time.monotonic()
        stalled.stall.touch()
        cluster.wait_until(lambda: b"stalled: " in stalled.log(), "a write to meet the stall")
        others = [m for m in self.members.members if m is not stalled]
        leader = self.members.leader(among=others)
        took = time.monotonic() - began
        self.assertIsNot(leader, stalled)
        self.history.wait_more(100)
        print(f"another member led {took:.2f} s after the disk had stalled", flush=True)
        self.assertLess(took, 3 * ELECTION_TIMEOUT_SECONDS)
        time.sleep(max(0.0, began + STALL_SECONDS - time.monotonic()))
        self.history.wait_more(100)
        stalled.stall.unlink()
        self.history.wait_more(100)
        self.finish(least=500)


if __name__ == "__main__":
    unittest.main()
