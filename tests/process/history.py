"""Clients that write down what they saw, and the check that one store could have said it.

The clients are stock gRPC ones over python3-etcd3's messages: puts, deletes, compare-and-swaps, linearizable and
serializable reads of a few keys. The file's form is told in tests/linearizability/history_text.h.
"""

import os
import random
import subprocess
import threading
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2

import server
from cluster import channel_to, wait_until

CHECKER = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-check-history")
KEYS = [f"k{n}" for n in range(6)]
# The time that clients give a call before they consider its outcome unknown and turn to another member.
CALL_SECONDS = 3


def shown(kv):
    return (f"{kv.key.decode()}={kv.value.decode()}@{kv.mod_revision},{kv.create_revision},{kv.version}")


class History:
    """The operations of all clients of a cluster that nobody else writes to."""

    def __init__(self, start_revision=1):
        self.lines = [f"start {start_revision}"]
        self.acknowledged = 0
        self.unknown = 0
        self.clients = []
        self._lock = threading.Lock()

    def record(self, client, call, returned, operation, answer):
        line = f"{client} {call} {'-' if returned is None else returned} {operation} -> {answer}"
        with self._lock:
            self.lines.append(line)
            if returned is None:
                self.unknown += 1
            else:
                self.acknowledged += 1

    def start_clients(self, endpoints, count=6, seed=1, pinned=False, patience_s=CALL_SECONDS):
        """`pinned` clients talk to one member each, and never turn to another."""
        for number in range(len(self.clients), len(self.clients) + count):
            first = number % len(endpoints)
            mine = [endpoints[first]] if pinned else endpoints[first:] + endpoints[:first]
            client = Client(self, f"c{number}", mine, seed * 1000 + number, patience_s)
            self.clients.append(client)
            client.start()

    def stop_clients(self):
        for client in self.clients:
            client.stopping = True
        for client in self.clients:
            client.join()
            if client.error is not None:
                raise client.error

    def wait_more(self, count, timeout=60, clients=None):
        """Waits until `count` more operations are acknowledged, so that there is load in what happens next."""
        clients = clients or self.clients
        goal = sum(c.acknowledged for c in clients) + count
        wait_until(lambda: sum(c.acknowledged for c in clients) >= goal, f"{count} more operations", timeout)

    def read_all(self, cluster):
        """A linearizable read of everything through each member, as part of the history."""
        for member in cluster.members:
            with member.channel() as channel:
                reader = Client(self, f"final-{member.name}", [member.endpoint], 1)
                reader.connect(channel)
                reader.read_range(server.kv(channel))

    def check(self, folder, least=1):
        assert self.acknowledged >= least, f"only {self.acknowledged} operations were acknowledged"
        path = os.path.join(folder, "history.txt")
        with open(path, "w", encoding="utf8") as file:
            file.write("\n".join(self.lines) + "\n")
        done = subprocess.run([CHECKER, path], capture_output=True, check=False, timeout=300)
        print(done.stdout.decode().strip(), flush=True)
        assert done.returncode == 0, f"see {path}"


class Client(threading.Thread):
    """One operation after the other, until told to stop; after a failure through the next member."""

    def __init__(self, history, name, endpoints, seed, patience_s=CALL_SECONDS):
        super().__init__(name=name)
        self.history = history
        self.patience_s = patience_s
        self.endpoints = endpoints
        self.rng = random.Random(seed)
        self.stopping = False
        self.acknowledged = 0
        self.error = None
        self.count = 0
        self.seen = {}  # key -> mod revision, for compare-and-swaps that have a chance
        self.stub = None

    def connect(self, channel):
        self.stub = server.kv(channel)

    def run(self):
        turn = 0
        try:
            while not self.stopping:
                with channel_to(self.endpoints[turn % len(self.endpoints)]) as channel:
                    self.connect(channel)
                    try:
                        while not self.stopping:
                            self.one()
                    except grpc.RpcError:
                        turn += 1
                        # A dead member refuses at once: not a thousand times a second.
                        time.sleep(0.01)
        except Exception as error:  # an answer that makes no sense ends the test, not only the thread
            self.error = error

    def one(self):
        kind = self.rng.choices(("put", "get", "sget", "range", "cas", "delete"), (35, 30, 10, 8, 12, 5))[0]
        key = self.rng.choice(KEYS)
        self.count += 1
        value = f"{self.name}.{self.count}"
        if kind == "put":
            self.put(key, value)
        elif kind == "delete":
            self.delete(key)
        elif kind == "cas":
            self.compare_and_swap(key, value)
        elif kind == "range":
            self.read_range(self.stub)
        else:
            self.read(key, serializable=kind == "sget")

    def call(self, method, request, operation, answer_of, writes=True):
        """One call, recorded: acknowledged, or of unknown outcome. A read that failed says nothing."""
        call = time.monotonic_ns()
        try:
            answer = method(request, timeout=self.patience_s)
        except grpc.RpcError as error:
            # A call that was never sent is not an operation.
            if writes and "failed to connect" not in error.details():
                self.history.record(self.name, call, None, operation, "?")
            raise
        returned = time.monotonic_ns()
        self.history.record(self.name, call, returned, operation, f"{answer.header.revision}{answer_of(answer)}")
        self.acknowledged += 1
        return answer

    def put(self, key, value):
        answer = self.call(self.stub.Put, rpc_pb2.PutRequest(key=key.encode(), value=value.encode()),
                           f"put {key} {value}", lambda answer: "")
        self.seen[key] = answer.header.revision

    def delete(self, key):
        self.call(self.stub.DeleteRange, rpc_pb2.DeleteRangeRequest(key=key.encode()), f"del {key}",
                  lambda answer: f" {answer.deleted}")
        self.seen[key] = 0

    def read(self, key, serializable=False):
        answer = self.call(
            self.stub.Range, rpc_pb2.RangeRequest(key=key.encode(), serializable=serializable),
            f"{'sget' if serializable else 'get'} {key}",
            lambda answer: "".join(" " + shown(kv) for kv in answer.kvs), writes=False)
        self.seen[key] = answer.kvs[0].mod_revision if answer.kvs else 0

    def read_range(self, stub):
        self.call(stub.Range, rpc_pb2.RangeRequest(key=b"k", range_end=b"l"), "get k l",
                  lambda answer: "".join(" " + shown(kv) for kv in answer.kvs), writes=False)

    def compare_and_swap(self, key, value):
        revision = self.seen.get(key, 0)
        put = rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key.encode(), value=value.encode()))
        get = rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=key.encode()))
        compare = rpc_pb2.Compare(result=rpc_pb2.Compare.EQUAL, target=rpc_pb2.Compare.MOD, key=key.encode(),
                                  mod_revision=revision)

        def answer_of(answer):
            if answer.succeeded:
                return " yes put"
            return " no get" + "".join(" " + shown(kv) for kv in answer.responses[0].response_range.kvs)

        answer = self.call(self.stub.Txn, rpc_pb2.TxnRequest(compare=[compare], success=[put], failure=[get]),
                           f"txn if mod({key})={revision} then put {key} {value} else get {key}", answer_of)
        kvs = [] if answer.succeeded else answer.responses[0].response_range.kvs
        self.seen[key] = answer.header.revision if answer.succeeded else kvs[0].mod_revision if kvs else 0


class HistoryCase(unittest.TestCase):
    """A cluster whose clients write down what they see, until it is judged: begin, the story, finish."""

    def begin(self, members):
        self.fine = False
        self.members = members
        self.addCleanup(lambda: self.members.close(keep=not self.fine))
        self.members.start()
        self.members.leader()
        self.history = History()
        self.addCleanup(self.stop_clients)

    def stop_clients(self):
        for client in self.history.clients:
            client.stopping = True

    def finish(self, least):
        self.history.wait_more(100)
        self.history.stop_clients()
        self.judge(least)

    def judge(self, least):
        self.members.leader()
        self.history.read_all(self.members)
        self.members.check_equal()
        self.history.check(self.members.folder, least)
        self.members.check_logs()
        self.fine = True
