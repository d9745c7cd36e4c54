"""Nothing acknowledged is lost: puts and txns from several connections, SIGKILL at random moments, restart, check.

This shows what survives the end of the process. That what is acknowledged was synced is shown by the in-process test
over a simulated disk (tests/server/replica/recovery/local_member_crash_test.cc), since a kill leaves the page cache.
"""

import os
import random
import threading
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2

import server

ROUNDS = int(os.environ.get("KVORUM_CRASH_ROUNDS", "50"))
WRITERS = 6
SEED = int(os.environ.get("KVORUM_CRASH_SEED", "1"))


class Writer(threading.Thread):
    """Puts, and txns of two keys, one after the other, until the connection breaks."""

    def __init__(self, number, round_number, endpoint):
        super().__init__()
        self.name = f"{number}.{round_number}"
        self.endpoint = endpoint
        self.acknowledged = {}  # key -> (value, revision)

    def run(self):
        with grpc.insecure_channel(self.endpoint) as channel:
            stub = server.kv(channel)
            count = 0
            try:
                while True:
                    count += 1
                    value = f"value {self.name} {count}".encode()
                    if count % 3 == 0:
                        self.txn(stub, count, value)
                    else:
                        key = f"put/{self.name}/{count}".encode()
                        answer = server.put(stub, key, value)
                        self.acknowledged[key] = (value, answer.header.revision)
            except grpc.RpcError:
                return

    def txn(self, stub, count, value):
        keys = [f"txn/{self.name}/{count}/{side}".encode() for side in "ab"]
        request = rpc_pb2.TxnRequest(success=[
            rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=value)) for key in keys])
        answer = stub.Txn(request, timeout=10)
        for key in keys:
            self.acknowledged[key] = (value, answer.header.revision)


class CrashTest(unittest.TestCase):
    def check(self, stub, acknowledged, writer=""):
        """`acknowledged` is all, or what the writers with this name were told."""
        found = {}
        for key in (f"put/{writer}".encode(), f"txn/{writer}".encode()):
            end = key[:-1] + bytes([key[-1] + 1])
            while page := server.get(stub, key, range_end=end, limit=2000).kvs:
                found.update((kv.key, kv) for kv in page)
                key = page[-1].key + b"\0"
        for key, (value, revision) in acknowledged.items():
            self.assertIn(key, found, f"it was acknowledged at revision {revision} and is gone")
            self.assertEqual(found[key].value, value)
            self.assertEqual(found[key].mod_revision, revision)

    def check_txns_are_whole(self, stub):
        found = server.get(stub, b"txn/", range_end=b"txn0", keys_only=True)
        sides = {}
        for pair in found.kvs:
            sides.setdefault(pair.key[:-2], []).append(pair.mod_revision)
        for txn, revisions in sides.items():
            self.assertEqual(len(revisions), 2, f"half of {txn} is gone")
            self.assertEqual(revisions[0], revisions[1])

    def test_no_acknowledged_write_is_lost_to_kill_9(self):
        rng = random.Random(SEED)
        everything = {}
        revision = 0
        # Small limits, so that kills meet commits, snapshots and segment cuts.
        with server.Server("--snapshot-count", "500", "--backend-batch-interval", "20ms") as member:
            for round_number in range(ROUNDS):
                member.start()
                with member.channel() as channel:
                    stub = server.kv(channel)
                    header = server.get(stub, b"x").header
                    self.assertGreaterEqual(header.revision, revision, f"seed {SEED}, round {round_number}")
                writers = [Writer(n, round_number, member.endpoint) for n in range(WRITERS)]
                for writer in writers:
                    writer.start()
                time.sleep(rng.uniform(0.02, 0.5))
                member.kill()
                for writer in writers:
                    writer.join()
                member.start()
                with member.channel() as channel:
                    stub = server.kv(channel)
                    for writer in writers:
                        self.check(stub, writer.acknowledged, f"{writer.name}/")
                        everything.update(writer.acknowledged)
                    revision = server.get(stub, b"x").header.revision
                member.kill()
            member.start()
            with member.channel() as channel:
                stub = server.kv(channel)
                self.check(stub, everything)
                self.check_txns_are_whole(stub)
        print(f"{len(everything)} keys were acknowledged", flush=True)
        self.assertGreater(len(everything), 10 * ROUNDS, "too few writes were made to show anything")


if __name__ == "__main__":
    unittest.main()
