"""Watch streams beside the packaged etcd: the same random requests to both, in the same order. Each watcher must be told
the same by both, in the same order: created, the events that the history says it must get, and why it ended. How
events are split into messages is each server's own, but a revision stays whole (the Python messages know no
fragments).

KVORUM_DIFFERENTIAL_ETCD names another etcd than the packaged one; KVORUM_DIFFERENTIAL_SEED another seed.
"""

import collections
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import unittest

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402

ETCD = os.environ.get("KVORUM_DIFFERENTIAL_ETCD") or os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")
SEED = int(os.environ.get("KVORUM_DIFFERENTIAL_SEED", "1"))
KEYS = [b"a", b"a/1", b"a/2", b"b", b"b/1", b"c"]
OPEN_END = b"\0"

Event = collections.namedtuple("Event", "deleted key value create version revision prev")


class Etcd:
    def __init__(self, test, *flags):
        folder = tempfile.TemporaryDirectory(prefix="watch-differential-")
        test.addCleanup(folder.cleanup)
        client, peer = (f"127.0.0.1:{ports.free_port()}" for _ in range(2))
        with open(os.path.join(folder.name, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [ETCD, "--name=n", f"--data-dir={folder.name}/data", f"--listen-client-urls=http://{client}",
                 f"--advertise-client-urls=http://{client}", f"--listen-peer-urls=http://{peer}",
                 f"--initial-advertise-peer-urls=http://{peer}", f"--initial-cluster=n=http://{peer}", *flags],
                stdout=log, stderr=log)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        self.endpoint = client


class Side:
    """One server and its stream, and what each watcher was told."""

    def __init__(self, test, name, endpoint):
        self.test = test
        self.name = name
        self.channel = cluster.channel_to(endpoint)
        test.addCleanup(self.channel.close)
        self.kv = server.kv(self.channel)
        self.lock = threading.Lock()
        self.requests = None

    def wait_ready(self):
        cluster.wait_until(lambda: self.try_get(), f"{self.name} to serve")

    def try_get(self):
        try:
            return server.get(self.kv, b"x") is not None
        except Exception:  # not yet
            return False

    def open(self):
        self.requests = queue.Queue()
        self.call = rpc_pb2_grpc.WatchStub(self.channel).Watch(iter(self.requests.get, None))
        self.control = []  # created and canceled, in the order of the stream
        self.events = collections.defaultdict(list)
        self.broken = []  # what no stream may say
        threading.Thread(target=self.read, args=(self.call, self.control, self.events), daemon=True).start()

    def close(self):
        self.call.cancel()
        self.requests.put(None)

    def read(self, call, control, events):
        open_revision = {}
        try:
            for response in call:
                with self.lock:
                    if response.created or response.canceled:
                        control.append((response.watch_id, response.created, response.canceled,
                                        response.compact_revision, response.cancel_reason,
                                        response.header.revision if response.created else None))
                        open_revision.pop(response.watch_id, None)  # the id may have been another watcher's
                        continue
                    told = [decode(event) for event in response.events]
                    if told and told[0].revision <= open_revision.get(response.watch_id, 0):
                        self.broken.append(f"{self.name} split revision {told[0].revision}")
                    if told:
                        open_revision[response.watch_id] = told[-1].revision
                    events[response.watch_id] += told
        except Exception:  # the end of the call
            pass


def decode(event):
    kv = event.kv
    prev = event.prev_kv.value if event.HasField("prev_kv") else None
    return Event(event.type == 1, kv.key, kv.value, kv.create_revision, kv.version, kv.mod_revision, prev)


class Watcher:
    def __init__(self, request, from_revision, reads_history):
        self.request = request
        self.from_revision = from_revision
        self.reads_history = reads_history
        self.until = None

    def wants(self, event):
        r = self.request
        end = r.range_end
        if event.revision < self.from_revision or (self.until is not None and event.revision > self.until):
            return False
        if (rpc_pb2.WatchCreateRequest.NOPUT if not event.deleted else
                rpc_pb2.WatchCreateRequest.NODELETE) in r.filters:
            return False
        if not end:
            return event.key == r.key
        return event.key >= r.key and (end == OPEN_END or event.key < end)

    def expected(self, history):
        return [event if self.request.prev_kv else event._replace(prev=None)
                for event in history if self.wants(event)]


class WatchDifferentialTest(unittest.TestCase):
    def setUp(self):
        member = server.Server()
        self.addCleanup(member.close)
        member.start()
        self.sides = [Side(self, "kvorum", member.endpoint), Side(self, "etcd", Etcd(self).endpoint)]
        for side in self.sides:
            side.wait_ready()
        self.random = random.Random(SEED)
        self.history = []
        self.live = {}  # key: (value, create, version)
        self.revision = 1
        self.compacted = 0

    def both(self, call):
        answers = [call(side) for side in self.sides]
        self.assertEqual(answers[0].header.revision, answers[1].header.revision)
        return answers[0]

    def record(self, deleted, key, value, revision):
        before = self.live.get(key)
        prev = before[0] if before else None
        if deleted:
            del self.live[key]
            self.history.append(Event(True, key, b"", 0, 0, revision, prev))
            return
        create, version = (before[1], before[2] + 1) if before else (revision, 1)
        self.live[key] = (value, create, version)
        self.history.append(Event(False, key, value, create, version, revision, prev))

    def write(self):
        revision = self.revision + 1
        choice = self.random.randrange(10)
        if choice < 5:
            key, value = self.random.choice(KEYS), b"%d" % self.random.randrange(10**6)
            self.revision = self.both(lambda side: server.put(side.kv, key, value)).header.revision
            self.record(False, key, value, revision)
        elif choice < 8:
            key = self.random.choice(KEYS)
            end = self.random.choice([b"", OPEN_END, b"b", b"z"])
            request = rpc_pb2.DeleteRangeRequest(key=key, range_end=end, prev_kv=True)
            answer = self.both(lambda side: side.kv.DeleteRange(request, timeout=10))
            self.revision = answer.header.revision
            for kv in answer.prev_kvs:
                self.record(True, kv.key, b"", revision)
        else:
            keys = self.random.sample(KEYS, 3)
            ops = [rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=b"t%d" % revision)) for key in keys]
            request = rpc_pb2.TxnRequest(success=ops)
            self.revision = self.both(lambda side: side.kv.Txn(request, timeout=10)).header.revision
            for key in keys:
                self.record(False, key, b"t%d" % revision, revision)

    def compact(self, watchers):
        # A watcher that has got nothing of the history yet may still be catching up, and must not be overtaken.
        last = min([watcher.from_revision for watcher in watchers.values()
                    if watcher.reads_history and not watcher.expected(self.history)] + [self.revision - 1])
        if last - self.compacted < 4:
            return
        self.compacted = self.random.randrange(self.compacted + 1, last + 1)
        self.both(lambda side: side.kv.Compact(rpc_pb2.CompactionRequest(revision=self.compacted, physical=True),
                                               timeout=10))

    def say(self, request):
        for side in self.sides:
            side.requests.put(request)

    def wait_control(self, count):
        for side in self.sides:
            cluster.wait_until(lambda s=side: len(s.control) >= count, f"{side.name} to answer {count} times", 20)
        self.assertEqual(self.sides[0].control[:count], self.sides[1].control[:count])

    def start_revision(self):
        choice = self.random.randrange(6)
        if choice == 0 and self.compacted > 1:
            return self.random.randrange(1, self.compacted)
        if choice == 1:
            return self.revision + self.random.randrange(1, 6)
        if choice <= 3:
            # Not at the compaction: the packaged etcd loses a tombstone there.
            return self.random.randrange(self.compacted + 1, self.revision + 1)
        return 0

    def create(self, watchers, expected_control):
        request = rpc_pb2.WatchCreateRequest(
            key=self.random.choice(KEYS + [b""]), range_end=self.random.choice([b"", b"", OPEN_END, b"b", b"z"]),
            start_revision=self.start_revision(), prev_kv=self.random.random() < 0.3,
            filters=self.random.choice([[], [], [], [0], [1], [0, 1]]))
        # watch_id, which these messages do not know yet.
        request.MergeFromString(b"\x38" + bytes([self.random.choice([0, 0, 0, self.random.randrange(1, 40)])]))
        self.say(rpc_pb2.WatchRequest(create_request=request))
        expected_control += 1
        self.wait_control(expected_control)
        watch_id, created, canceled, *_ = self.sides[0].control[expected_control - 1]
        self.assertTrue(created)
        if canceled:
            return expected_control
        if request.start_revision and request.start_revision < self.compacted:
            expected_control += 1
            self.wait_control(expected_control)
            self.assertEqual(self.sides[0].control[-1], (watch_id, False, True, self.compacted, "", None))
            self.gone.add(watch_id)
            return expected_control
        if not request.key:
            request.key = b"\0"
        watchers[watch_id] = Watcher(
            request, request.start_revision or self.revision + 1, 0 < request.start_revision <= self.revision)
        return expected_control

    def settle(self, watchers):
        for side in self.sides:
            for watch_id, watcher in watchers.items():
                expected = watcher.expected(self.history)
                cluster.wait_until(lambda: len(side.events[watch_id]) >= len(expected),
                                   f"{side.name} to tell watcher {watch_id} of {watcher.request} everything", 20)
                with side.lock:
                    self.assertEqual(side.events[watch_id], expected, (side.name, watch_id, str(watcher.request)))
            self.assertEqual(side.broken, [])

    def run_stream(self, steps):
        for side in self.sides:
            side.open()
        watchers = {}
        self.gone = set()
        control = 0
        for _ in range(steps):
            choice = self.random.randrange(100)
            if choice < 70:
                self.write()
            elif choice < 88:
                control = self.create(watchers, control)
            elif choice < 94 and watchers:
                self.settle(watchers)
                watch_id = self.random.choice(list(watchers))
                self.say(rpc_pb2.WatchRequest(cancel_request=rpc_pb2.WatchCancelRequest(watch_id=watch_id)))
                control += 1
                self.wait_control(control)
                del watchers[watch_id]
                for side in self.sides:
                    side.events[watch_id].clear()
            elif choice < 96:
                self.say(rpc_pb2.WatchRequest(cancel_request=rpc_pb2.WatchCancelRequest(watch_id=12345)))
            elif choice < 97:
                self.say(rpc_pb2.WatchRequest())
            else:
                self.settle(watchers)  # what is not told yet may be compacted
                self.compact(watchers)
        self.settle(watchers)
        for side in self.sides:
            side.close()

    def test_both_tell_every_watcher_the_same(self):
        for _ in range(8):
            self.run_stream(150)
        self.assertGreater(len(self.history), 300)
        self.assertGreater(self.compacted, 0)


if __name__ == "__main__":
    unittest.main()
