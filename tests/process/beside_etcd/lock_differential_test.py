"""Lock and Election beside the packaged etcd: the same random requests to both, one after the other, with calls that
wait meanwhile. Each call must be answered the same (ids of clusters and members aside), by both or by neither, the
queues must be the same keys at the same revisions, and observers must be told the same.

What differs on purpose (docs/compatibility.md) is not asked: nobody loses the key that it waits with but by its own
leaving.

KVORUM_DIFFERENTIAL_ETCD names another etcd than the packaged one; KVORUM_DIFFERENTIAL_SEED another seed.
"""

import os
import pathlib
import random
import sys
import threading
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import lock_messages  # noqa: E402
import server  # noqa: E402
import watch_differential_test  # noqa: E402

SEED = int(os.environ.get("KVORUM_DIFFERENTIAL_SEED", "1"))
STEPS = 400
LOCKS = [b"l", b"l/x", b""]
ELECTIONS = [b"e", b"f"]
LEASES = range(1, 8)
UNKNOWN_LEASE = 99


LEADER_RESPONSE = lock_messages.CLASSES["LeaderResponse"]


def strip(message):
    """A response without what is each server's own."""
    message.header.ClearField("cluster_id")
    message.header.ClearField("member_id")
    message.header.ClearField("raft_term")
    return message.SerializeToString(deterministic=True)


def outcome(call):
    try:
        return ("answer", strip(call.result()))
    except grpc.FutureCancelledError:
        return ("cancelled",)
    except grpc.RpcError as error:
        return ("error", error.code(), error.details())


class Side:
    def __init__(self, test, name, endpoint):
        self.name = name
        self.channel = cluster.channel_to(endpoint)
        test.addCleanup(self.channel.close)
        self.kv = server.kv(self.channel)
        self.leases = rpc_pb2_grpc.LeaseStub(self.channel)
        self.stub = lock_messages.Stub(self.channel)
        self.waiting = {}  # (method, name, lease): call
        self.told = {name: [] for name in ELECTIONS}
        self.lock = threading.Lock()

    def try_get(self):
        try:
            return server.get(self.kv, b"x") is not None
        except grpc.RpcError:  # not yet
            return False

    def observe(self, name):
        call = self.stub.Observe(lock_messages.LeaderRequest(name=name))

        def read():
            try:
                for response in call:
                    with self.lock:
                        self.told[name].append(strip(response))
            except grpc.RpcError:  # the end of the test
                pass
        threading.Thread(target=read, daemon=True).start()

    def state(self, left):
        """The state that must be equal on both sides, or None while something is still going on: who may be answered is not,
        the key of one who left (`left`) is there, an observer lags."""
        # Before the keys: what an answered call did is among them then.
        done = {key for key, call in self.waiting.items() if call.done()}
        whole = server.get(self.kv, b"\0", range_end=b"\0")
        with self.lock:
            told = {name: list(messages) for name, messages in self.told.items()}
        rows = {kv.key: kv for kv in whole.kvs}

        def oldest(name):
            queue = [kv for kv in whole.kvs if kv.key.startswith(name + b"/")]
            return min(queue, key=lambda kv: kv.create_revision) if queue else None
        for method, name, lease in self.waiting:
            key = name + b"/%x" % lease
            if ((method, name, lease) in done) != (key not in rows or oldest(name).key == key):
                return None
        if left in rows:
            return None
        for name, messages in told.items():
            leader = oldest(name)
            if leader and (not messages or LEADER_RESPONSE.FromString(messages[-1]).kv != leader):
                return None
        return (whole.header.revision, [kv.SerializeToString() for kv in whole.kvs],
                sorted(done), told)


class LockDifferentialTest(unittest.TestCase):
    def setUp(self):
        member = server.Server()
        self.addCleanup(member.close)
        member.start()
        etcd = watch_differential_test.Etcd(self)
        self.sides = [Side(self, "kvorum", member.endpoint), Side(self, "etcd", etcd.endpoint)]
        for side in self.sides:
            cluster.wait_until(side.try_get, f"{side.name} to serve")
        self.random = random.Random(SEED)
        self.leaders = []
        self.left = None
        self.answers = 0
        self.waits = 0

    def both(self, ask):
        """One request to both sides; the outcomes must be the same."""
        results = []
        for side in self.sides:
            results.append(outcome(ask(side)))
        self.assertEqual(results[0], results[1])
        self.answers += 1
        return results[0]

    def settle(self):
        """Until both sides have come to rest; then all must be the same."""
        states = [cluster.wait_until(lambda side=side: side.state(self.left), f"{side.name} to come to rest")
                  for side in self.sides]
        self.left = None
        self.assertEqual(states[0], states[1])
        for key in states[0][2]:
            results = [outcome(side.waiting.pop(key)) for side in self.sides]
            self.assertEqual(results[0], results[1], key)
            self.answers += 1
            if key[0] == "Campaign" and results[0][0] == "answer":
                response = lock_messages.CLASSES["CampaignResponse"].FromString(results[0][1])
                self.leaders.append(response.leader)

    def grant(self, lease):
        for side in self.sides:
            side.leases.LeaseGrant(rpc_pb2.LeaseGrantRequest(ID=lease, TTL=3600), timeout=10)

    def call(self, method, name, lease, request):
        """A call that may wait; a second one with this key would share its fate."""
        if (method, name, lease) in self.sides[0].waiting:
            return
        self.waits += 1
        for side in self.sides:
            side.waiting[method, name, lease] = getattr(side.stub, method).future(request)

    def lock(self):
        name, lease = self.random.choice(LOCKS), self.random.choice([*LEASES, *LEASES, UNKNOWN_LEASE])
        self.call("Lock", name, lease, lock_messages.LockRequest(name=name, lease=lease))

    def campaign(self):
        name, lease = self.random.choice(ELECTIONS), self.random.choice([*LEASES, *LEASES, UNKNOWN_LEASE])
        value = self.random.choice([b"", b"v", b"w"])
        self.call("Campaign", name, lease, lock_messages.CampaignRequest(name=name, lease=lease, value=value))

    def cancel(self):
        waiting = sorted(self.sides[0].waiting)
        if waiting:
            key = self.random.choice(waiting)
            self.left = key[1] + b"/%x" % key[2]
            for side in self.sides:
                side.waiting.pop(key).cancel()

    def unlock(self):
        """Unlocks a held lock, or nothing at all."""
        name = self.random.choice(LOCKS)
        rows = server.get(self.sides[0].kv, name + b"/", range_end=name + b"0", limit=1,
                          sort_target=rpc_pb2.RangeRequest.CREATE, sort_order=rpc_pb2.RangeRequest.ASCEND).kvs
        key = rows[0].key if rows and self.random.random() < 0.9 else self.random.choice([b"", b"none"])
        if any(key == lock + b"/%x" % lease and method == "Lock" for method, lock, lease in self.sides[0].waiting):
            return  # of a shorter name's queue: the key of one who waits
        self.both(lambda side: side.stub.Unlock.future(lock_messages.UnlockRequest(key=key), timeout=10))

    def leader_key(self):
        chosen = lock_messages.LeaderKey()
        if self.leaders:
            chosen.CopyFrom(self.random.choice(self.leaders[-4:]))
        change = self.random.random()
        if change < 0.1:
            chosen.rev -= 1
        elif change < 0.2:
            chosen.lease = UNKNOWN_LEASE
        return None if self.random.random() < 0.05 else chosen

    def proclaim(self):
        leader = self.leader_key()
        if leader is not None and not leader.lease:
            leader.lease = UNKNOWN_LEASE  # a lease that is granted has each server's own id
        request = lock_messages.ProclaimRequest(leader=leader, value=b"p%d" % self.random.randrange(3))
        self.both(lambda side: side.stub.Proclaim.future(request, timeout=10))

    def resign(self):
        request = lock_messages.ResignRequest(leader=self.leader_key())
        self.both(lambda side: side.stub.Resign.future(request, timeout=10))

    def leader(self):
        request = lock_messages.LeaderRequest(name=self.random.choice([*ELECTIONS, b"nobody"]))
        self.both(lambda side: side.stub.Leader.future(request, timeout=10))

    def put(self):
        self.both(lambda side: side.kv.Put.future(rpc_pb2.PutRequest(key=b"other", value=b"v"), timeout=10))

    def revoke(self):
        """Revokes the lease of a participant that holds something and waits for nothing."""
        waiting = {lease for _, _, lease in self.sides[0].waiting}
        free = [lease for lease in LEASES if lease not in waiting]
        if free:
            lease = self.random.choice(free)
            self.both(lambda side: side.leases.LeaseRevoke.future(rpc_pb2.LeaseRevokeRequest(ID=lease), timeout=10))
            self.grant(lease)

    def test_random_requests(self):
        for lease in LEASES:
            self.grant(lease)
        for name in ELECTIONS:
            for side in self.sides:
                side.observe(name)
        actions = [self.lock] * 5 + [self.campaign] * 5 + [self.unlock] * 4 + [self.resign] * 3 + [
            self.cancel, self.proclaim, self.proclaim, self.leader, self.put, self.revoke]
        for _ in range(STEPS):
            self.random.choice(actions)()
            self.settle()
        self.assertGreater(self.answers, STEPS / 3)
        self.assertGreater(self.waits, STEPS / 6)


if __name__ == "__main__":
    unittest.main()
