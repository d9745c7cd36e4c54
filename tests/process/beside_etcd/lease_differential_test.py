"""Keep-alive streams and what watchers see of leases, beside the packaged etcd: the same random requests to both, in the
same order. Both must answer each stream the same in the same order, and tell a watcher of everything the same: what a
revocation deletes comes in the order of the keys, at one revision.

Times are long, so that nothing expires. KVORUM_DIFFERENTIAL_ETCD names another etcd than the packaged one;
KVORUM_DIFFERENTIAL_SEED another seed.
"""

import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

ETCD = os.environ.get("KVORUM_DIFFERENTIAL_ETCD") or os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
SEED = int(os.environ.get("KVORUM_DIFFERENTIAL_SEED", "1"))
LEASES = [1, 2, 3, 4, 5, -7]
UNKNOWN = 99
KEYS = [b"a", b"a/1", b"b", b"b/\xff", b"c"]
STREAMS = 3


def start_etcd(test):
    folder = tempfile.TemporaryDirectory(prefix="lease-differential-")
    test.addCleanup(folder.cleanup)
    client, peer = (f"127.0.0.1:{ports.free_port()}" for _ in range(2))
    with open(os.path.join(folder.name, "log"), "wb") as log:
        process = subprocess.Popen(
            [ETCD, "--name=n", f"--data-dir={folder.name}/data", f"--listen-client-urls=http://{client}",
             f"--advertise-client-urls=http://{client}", f"--listen-peer-urls=http://{peer}",
             f"--initial-advertise-peer-urls=http://{peer}", f"--initial-cluster=n=http://{peer}"],
            stdout=log, stderr=log)
    test.addCleanup(process.wait)
    test.addCleanup(process.kill)
    return client


class Stream:
    """A keep-alive stream of raw messages, and what was answered on it."""

    def __init__(self, channel):
        self.requests = queue.Queue()
        self.answers = []
        self.end = None
        method = channel.stream_stream("/etcdserverpb.Lease/LeaseKeepAlive", request_serializer=bytes,
                                       response_deserializer=rpc_pb2.LeaseKeepAliveResponse.FromString)
        self.call = method(iter(self.requests.get, None))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            for answer in self.call:
                assert answer.header.cluster_id and answer.header.member_id and answer.header.raft_term
                self.answers.append((answer.ID, answer.TTL, answer.header.revision))
        except grpc.RpcError:  # its code tells
            pass
        self.end = self.call.code()


class Side:
    def __init__(self, test, name, endpoint):
        self.name = name
        self.channel = cluster.channel_to(endpoint)
        test.addCleanup(self.channel.close)
        self.kv = server.kv(self.channel)
        self.lease = rpc_pb2_grpc.LeaseStub(self.channel)
        self.events = []
        self.streams = []
        cluster.wait_until(self._serves, f"{name} to serve")
        watch = queue.Queue()
        watch.put(rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(
            key=b"\0", range_end=b"\0", start_revision=1, prev_kv=True)))
        call = rpc_pb2_grpc.WatchStub(self.channel).Watch(iter(watch.get, None))
        test.addCleanup(call.cancel)
        threading.Thread(target=self._watch, args=(call,), daemon=True).start()

    def _serves(self):
        try:
            return server.get(self.kv, b"x") is not None
        except grpc.RpcError:
            return False

    def _watch(self, call):
        try:
            for response in call:
                self.events += [(e.type, e.kv.key, e.kv.value, e.kv.mod_revision, e.kv.version, e.kv.lease,
                                 e.prev_kv.value, e.prev_kv.lease) for e in response.events]
        except grpc.RpcError:  # the end of the test
            pass


class LeaseDifferentialTest(unittest.TestCase):
    def setUp(self):
        member = server.Server()
        self.addCleanup(member.close)
        member.start()
        self.sides = [Side(self, "kvorum", member.endpoint), Side(self, "etcd", start_etcd(self))]
        self.random = random.Random(SEED)
        self.revision = 1
        self.events = 0

    def both(self, call):
        """The answer of both; None if both refuse it the same."""
        answers = []
        for side in self.sides:
            try:
                answers.append(call(side))
            except grpc.RpcError as error:
                answers.append((error.code(), error.details()))
        ours, theirs = answers
        if isinstance(ours, tuple) or isinstance(theirs, tuple):
            self.assertEqual(ours, theirs)
            return None
        self.assertEqual(ours.header.revision, theirs.header.revision)
        self.revision = ours.header.revision
        return answers

    def any_lease(self):
        return self.random.choice(LEASES + [UNKNOWN])

    def grant(self):
        request = rpc_pb2.LeaseGrantRequest(ID=self.random.choice(LEASES),
                                            TTL=self.random.choice([1000, 2000, 9_000_000_000, 9_000_000_001]))
        self.both(lambda side: side.lease.LeaseGrant(request, timeout=10))

    def put(self):
        request = rpc_pb2.PutRequest(key=self.random.choice(KEYS), value=b"%d" % self.random.randrange(1000),
                                     lease=self.random.choice([0, self.any_lease(), self.any_lease()]))
        self.events += self.both(lambda side: side.kv.Put(request, timeout=10)) is not None

    def txn(self):
        puts = [rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=b"t", lease=self.any_lease()))
                for key in self.random.sample(KEYS, 2)]
        if self.both(lambda side: side.kv.Txn(rpc_pb2.TxnRequest(success=puts), timeout=10)):
            self.events += 2

    def delete(self):
        request = rpc_pb2.DeleteRangeRequest(key=self.random.choice(KEYS))
        answers = self.both(lambda side: side.kv.DeleteRange(request, timeout=10))
        self.events += answers[0].deleted

    def keys_of(self, lease):
        request = rpc_pb2.LeaseTimeToLiveRequest(ID=lease, keys=True)
        ours, theirs = self.both(lambda side: side.lease.LeaseTimeToLive(request, timeout=10))
        self.assertEqual((sorted(ours.keys), ours.grantedTTL, ours.TTL > 0),
                         (sorted(theirs.keys), theirs.grantedTTL, theirs.TTL > 0))
        return list(ours.keys)

    def revoke(self):
        lease = self.any_lease()
        keys = len(self.keys_of(lease))
        if self.both(lambda side: side.lease.LeaseRevoke(rpc_pb2.LeaseRevokeRequest(ID=lease), timeout=10)):
            self.events += keys

    def open_streams(self):
        for side in self.sides:
            side.streams = [Stream(side.channel) for _ in range(STREAMS)]

    def keep_alive(self):
        """A burst on one stream."""
        number = self.random.randrange(STREAMS)
        burst = [self.any_lease() for _ in range(self.random.choice([1, 2, 30]))]
        for side in self.sides:
            for lease in burst:
                side.streams[number].requests.put(rpc_pb2.LeaseKeepAliveRequest(ID=lease).SerializeToString())
        self.wait_answers(number, len(burst))

    def wait_answers(self, number, more):
        for side in self.sides:
            cluster.wait_until(lambda s=side: len(s.streams[number].answers) >= more, f"the answers of {side.name}")
        ours, theirs = (side.streams[number].answers for side in self.sides)
        self.assertEqual(ours, theirs)
        for side in self.sides:
            side.streams[number].answers = []

    def end_streams(self, last, code):
        """Each stream's last message, if any, and how it then ends."""
        for side in self.sides:
            for stream in side.streams:
                if last is not None:
                    stream.requests.put(last)
                stream.requests.put(None)
        for side in self.sides:
            for stream in side.streams:
                cluster.wait_until(lambda s=stream: s.end is not None, f"a stream of {side.name} to end")
                self.assertEqual((stream.end, stream.answers), (code, []), side.name)

    def check_events(self):
        for side in self.sides:
            cluster.wait_until(lambda s=side: len(s.events) >= self.events, f"{side.name} to tell everything")
        self.assertEqual(self.sides[0].events, self.sides[1].events)
        self.assertEqual(len(self.sides[0].events), self.events)

    def test_both_answer_every_stream_and_tell_the_watcher_the_same(self):
        steps = [self.grant, self.put, self.put, self.put, self.txn, self.delete, self.revoke, self.keep_alive,
                 self.keep_alive]
        for last, code in ((None, grpc.StatusCode.OK), (b"\xff", grpc.StatusCode.INTERNAL),
                           (None, grpc.StatusCode.OK)):
            self.open_streams()
            for _ in range(400):
                self.random.choice(steps)()
            self.end_streams(last, code)
            self.check_events()
        self.assertGreater(self.events, 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
