"""Calls that each are allowed, and that make a member look at much and hold much: each of these strangers repeats one over
and over, on a thread and a connection of its own, until the end. They have permission to write.

What is refused is no matter: they ask again.
"""

import threading
import time

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

MIB = 1 << 20
LARGE = bytes(MIB)
LARGE_KEYS = 16
SMALL_KEYS = 20_000
# Changes whose previous values are large.
DELETIONS = 200
FRAGMENT = b"\x40\x01"  # field 8 of WatchCreateRequest
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1),
           ("grpc.use_local_subchannel_pool", 1)]


def put(key, value):
    return rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=value))


def fill(endpoint):
    """What the calls read: many keys, and a history of large values that were deleted."""
    with grpc.insecure_channel(endpoint, options=OPTIONS) as channel:
        kv = rpc_pb2_grpc.KVStub(channel)
        for first in range(0, SMALL_KEYS, 100):
            kv.Txn(rpc_pb2.TxnRequest(success=[put(b"small%06d" % n, b"%06d" % (n * 7919 % SMALL_KEYS))
                                               for n in range(first, first + 100)]), timeout=60)
        for number in range(DELETIONS):
            key = b"large%d" % (number % LARGE_KEYS)
            kv.Put(rpc_pb2.PutRequest(key=key, value=LARGE), timeout=60)
            kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=key), timeout=60)


class Caller(threading.Thread):
    """`once` is one try; whatever ends it, the next one comes."""

    def __init__(self, endpoint, pause=0.0):
        super().__init__(name=type(self).__name__, daemon=True)
        self.endpoint = endpoint
        self.pause = pause
        self.ends = threading.Event()
        self.tries = 0
        self.answered = 0

    def run(self):
        with grpc.insecure_channel(self.endpoint, options=OPTIONS) as channel:
            self.kv = rpc_pb2_grpc.KVStub(channel)
            self.watches = rpc_pb2_grpc.WatchStub(channel)
            while not self.ends.is_set():
                self.tries += 1
                try:
                    self.once()
                except grpc.RpcError:
                    self.ends.wait(0.05)
                self.ends.wait(self.pause)

    def finish(self):
        self.ends.set()
        self.join()

    def revision(self):
        return self.kv.Range(rpc_pb2.RangeRequest(key=b"none"), timeout=30).header.revision

    def all_of(self, futures):
        for future in futures:
            try:
                future.result()
                self.answered += 1
            except grpc.RpcError:
                pass


class WatchFromTheBeginning(Caller):
    """Is caught up from the oldest revision that there is, with previous values or without, or reads nothing of it."""

    def __init__(self, endpoint, what, key, range_end, reads=True, fragment=False, **fields):
        super().__init__(endpoint)
        self.name = f"a watch from the beginning, {what}"
        self.request = rpc_pb2.WatchCreateRequest(key=key, range_end=range_end, **fields)
        if fragment:  # which these messages do not know
            self.request.MergeFromString(FRAGMENT)
        self.reads = reads
        self.oldest = 1

    def once(self):
        self.request.start_revision = self.oldest
        until = self.revision()
        stream = self.watches.Watch(self.asks(), timeout=20)
        try:
            if not self.reads:
                self.ends.wait(3)
                return
            for answer in stream:
                if answer.compact_revision:
                    self.oldest = answer.compact_revision
                    return
                self.answered += 1
                if self.ends.is_set() or any(event.kv.mod_revision >= until for event in answer.events):
                    return
        finally:
            stream.cancel()

    def asks(self):
        yield rpc_pb2.WatchRequest(create_request=self.request)
        self.ends.wait(20)


class SortedRangeInAWrite(Caller):
    """Rows of everything, by their values, for the answer of a transaction that writes."""

    def once(self):
        everything = rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0", sort_order=2, sort_target=4, limit=1)
        request = rpc_pb2.TxnRequest(success=[put(b"sorted", b"")] + [
            rpc_pb2.RequestOp(request_range=everything) for _ in range(8)])
        self.all_of([self.kv.Txn.future(request, timeout=30) for _ in range(4)])


class ManyLargePuts(Caller):
    """At once, so that they become one write to the log; and their deletions."""

    def once(self):
        keys = [b"large%d" % n for n in range(LARGE_KEYS)]
        self.all_of([self.kv.Put.future(rpc_pb2.PutRequest(key=key, value=LARGE), timeout=30) for key in keys])
        self.kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"large", range_end=b"largf"), timeout=30)


class ManyCompactions(Caller):
    """Of which each asks for the deletion to be done, one revision after another."""

    BEHIND = 400

    def once(self):
        newest = self.revision() - self.BEHIND
        self.all_of([self.kv.Compact.future(rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=30)
                     for revision in range(max(newest - 50, 1), newest)])


class ManySmallPuts(Caller):
    """Batches that are kept while watchers are caught up."""

    def once(self):
        self.all_of([self.kv.Put.future(rpc_pb2.PutRequest(key=b"small%06d" % n, value=b"%d" % time.monotonic_ns()),
                                        timeout=30) for n in range(300)])


def start(endpoint):
    everything = (b"\0", b"\0")
    callers = [
        WatchFromTheBeginning(endpoint, "previous values", *everything, prev_kv=True),
        WatchFromTheBeginning(endpoint, "in fragments", *everything, prev_kv=True, fragment=True),
        WatchFromTheBeginning(endpoint, "unread", *everything, prev_kv=True, reads=False),
        WatchFromTheBeginning(endpoint, "deletions alone", *everything, prev_kv=True, filters=[0]),
        WatchFromTheBeginning(endpoint, "of a key that there is not", b"nothing of it", b""),
        SortedRangeInAWrite(endpoint, pause=0.2),
        ManyLargePuts(endpoint, pause=2),
        ManyCompactions(endpoint, pause=1),
        ManySmallPuts(endpoint, pause=0.3),
    ]
    for caller in callers:
        caller.start()
    return callers
