"""Strangers who send without an end, on all ports of a member that may have 512 MiB of memory (RLIMIT_DATA: an
allocation past it ends the process), beside a client as it should be. No call of that client fails, and the memory
comes back when the strangers have gone.

All kinds at once (strangers.py), for a minute (KVORUM_STRANGER_SECONDS). Once alone, and once beside calls that make the
member look at much (strangers_calls.py).
"""

import json
import os
import re
import threading
import time
import unittest
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import ports
import server
import strangers
import strangers_calls

MIB = 1 << 20
LIMIT = 512 * MIB
BACK = 64 * MIB
SECONDS = float(os.environ.get("KVORUM_STRANGER_SECONDS", "60"))
LOG_ENTRIES = 50


class BoundedServer(server.Server):
    def __init__(self):
        self.metrics_port = ports.free_port()
        # The log's own bounds in memory are larger than what is looked for: it is cut off often.
        super().__init__("--listen-metrics-urls", f"http://127.0.0.1:{self.metrics_port}",
                         "--quota-backend-bytes", str(16 << 30),
                         "--snapshot-count", str(LOG_ENTRIES), "--snapshot-catchup-entries", "5")

    def command(self, *more):
        # All of a stack counts, used or not.
        return ["prlimit", f"--data={LIMIT}", f"--stack={MIB}", *super().command(*more)]

    def anonymous(self):
        """Resident bytes that are not of a file; 0 once it has ended."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            found = re.search(r"RssAnon:\s+(\d+)", status.read())
        return int(found[1]) * 1024 if found else 0


class StrangersMemoryTest(unittest.TestCase):
    def setUp(self):
        self.member = BoundedServer()
        self.addCleanup(self.member.close)
        self.member.start()
        # What it holds before anybody has asked for anything.
        self.before = self.member.anonymous()
        self.failures = []
        self.calls = 0
        self.stop = threading.Event()

    def fetch(self, port, path, body=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", body, timeout=30) as answer:
            return answer.read()

    def honest(self):
        """Puts and reads over gRPC, the gateway and the other ports, one after the other."""
        with grpc.insecure_channel(self.member.endpoint) as channel:
            stub = rpc_pb2_grpc.KVStub(channel)
            while not self.stop.is_set():
                self.calls += 1
                value = b"%d" % self.calls
                try:
                    stub.Put(rpc_pb2.PutRequest(key=b"honest", value=value), timeout=30)
                    got = stub.Range(rpc_pb2.RangeRequest(key=b"honest"), timeout=30)
                    assert got.kvs[0].value == value, got
                    json.loads(self.fetch(self.member.port, "/v3/kv/range", b'{"key":"aG9uZXN0"}'))["kvs"][0]
                    self.fetch(self.member.port, "/health")
                    self.fetch(self.member.metrics_port, "/metrics")
                    self.fetch(self.member.peer_port, "/version")
                except Exception as error:  # whatever it was
                    self.failures.append(f"{time.monotonic() - self.begun:.1f} s: {error!r}")
                time.sleep(0.05)

    def cut_the_log(self):
        """So that nothing large of it is in memory."""
        with grpc.insecure_channel(self.member.endpoint) as channel:
            stub = rpc_pb2_grpc.KVStub(channel)
            for _ in range(2 * LOG_ENTRIES):
                stub.Put(rpc_pb2.PutRequest(key=b"honest", value=b"0"), timeout=30)

    def test_they_are_bounded_and_others_are_served(self):
        self.check(lambda: [])

    def test_beside_calls_that_make_it_hold_much_too(self):
        strangers_calls.fill(self.member.endpoint)
        self.cut_the_log()
        self.check(lambda: strangers_calls.start(self.member.endpoint))

    def check(self, start_callers):
        client, metrics, peer = self.member.port, self.member.metrics_port, self.member.peer_port
        kinds = strangers.gateway(client) + strangers.http2(client, "/etcdserverpb.Watch/Watch")
        for path in ("/v3/kv/range", "/health", "/nothing"):
            kinds += strangers.framing(client, path) + strangers.on_any_port(client, path)
        for path in ("/metrics", "/nothing"):
            kinds += strangers.framing(metrics, path) + strangers.on_any_port(metrics, path)
            kinds += strangers.unfinished_body(metrics, path)
        for path in ("/raft", "/raft/snapshot", "/raft/probing", "/leases", "/members/promote/1", "/version", "/nothing"):
            kinds += strangers.framing(peer, path)
        kinds += strangers.on_any_port(peer, "/version") + strangers.on_any_port(peer, "/nothing")
        self.begun = time.monotonic()
        honest = threading.Thread(target=self.honest)
        honest.start()
        crowd = strangers.Strangers(kinds, SECONDS)
        crowd.start()
        callers = start_callers()
        self.addCleanup(lambda: [caller.finish() for caller in callers])
        highest = 0
        while crowd.is_alive():
            self.assertIsNone(self.member.process.poll(), self.member.log()[-2000:].decode(errors="replace"))
            highest = max(highest, self.member.anonymous())
            time.sleep(0.05)
        crowd.join()
        for caller in callers:
            caller.finish()
        self.stop.set()
        honest.join()
        self.assertIsNone(self.member.process.poll(), self.member.log()[-2000:].decode(errors="replace"))
        self.assertEqual(self.failures, [])
        self.assertGreater(self.calls, SECONDS / 4)
        print(f"{len(crowd.strangers)} strangers, {crowd.sent // MIB} MiB sent, {crowd.come_backs} came back, "
              f"{self.calls} rounds of honest calls; {self.before // MIB} MiB before, {highest // MIB} MiB at most")
        crowd.check(self)
        self.assertGreater(crowd.sent, SECONDS * 10 * MIB)
        self.assertGreater(crowd.come_backs, SECONDS * 10)
        for caller in callers:
            print(f"  {caller.name}: {caller.tries} tries, {caller.answered} answers")
            self.assertTrue(caller.answered or not getattr(caller, "reads", True), caller.name)
        self.cut_the_log()
        end = time.monotonic() + 30
        while self.member.anonymous() > self.before + BACK and time.monotonic() < end:
            time.sleep(0.1)
        print(f"  {(self.member.anonymous() - self.before) // MIB} MiB more than at first")
        self.assertLess(self.member.anonymous(), self.before + BACK)


if __name__ == "__main__":
    unittest.main()
