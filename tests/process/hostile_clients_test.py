"""Clients that misbehave on a real process, hundreds of them, of HTTP/1.1, HTTP/2 and WebSocket, plain and under TLS: slow,
silent, half-closed, never reading. What others ask for succeeds, memory and descriptors stay bounded, those that show
nothing are cut off, and nothing is left of them.

It takes as long as the server waits for a client to show its protocol (10 s), on both servers at once.
"""

import os
import re
import resource
import socket
import ssl
import time
import unittest
import urllib.request

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import hostile_kinds
import server
import tls_server

OF_EACH_KIND = 20
ANSWER_MEMORY_BYTES = 32 << 20
# What a connection costs beside its answers, and the allocator's slack.
MORE_BYTES = 96 << 20
# A little more than the server leaves in the kernel for a client that does not read.
UNSENT_BYTES = 512 << 10
# "Slow frames" never get to the end of their preface.
CUT_OFF = ("silent", "slow frames")
ENDED = CUT_OFF + ("half-closed HTTP", "half-closed gRPC")


class Hostile:
    def __init__(self, served, kind):
        self.kind = kind
        self.sent = 0
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", served.port))
        if isinstance(served, tls_server.TlsServer):
            # Without the last one, of a silent client, the server waits for the handshake.
            if kind.first:
                self.socket = served.context().wrap_socket(self.socket, server_hostname="127.0.0.1")
        if kind.first:
            self.socket.sendall(kind.first)
        if kind.then == hostile_kinds.SAYS_ONCE:
            self.socket.sendall(kind.more)
        if kind.then == hostile_kinds.HALF_CLOSES:
            self.socket.shutdown(socket.SHUT_WR)

    def trickle(self):
        if self.kind.then != hostile_kinds.TRICKLES or not self.kind.more:
            return
        try:
            self.socket.sendall(self.kind.more[self.sent % 10:][:1])
            self.sent += 1
        except (OSError, ssl.SSLError):
            pass  # the server has ended it


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) << 10


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def unsent(port):
    """What the kernel holds for each client of that port."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return [int(row[4].split(":")[0], 16) for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"]


class Bystander:
    """A client as it should be, beside the others."""

    def __init__(self, test, served):
        self.test = test
        self.served = served
        self.channel = served.channel()
        self.kv = server.kv(self.channel)
        self.done = 0

    def fill(self):
        """6 MB: more than the kernel takes for one client, and together more than may wait."""
        for i in range(60):
            self.kv.Txn(rpc_pb2.TxnRequest(success=[
                rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"%04d" % (i * 100 + j), value=b"v" * 1000))
                for j in range(100)]), timeout=30)

    def ask(self):
        self.done += 1
        value = b"%d" % self.done
        server.put(self.kv, b"bystander", value * 100)
        self.test.assertEqual(server.get(self.kv, b"bystander").kvs[0].value, value * 100)

    def watch(self):
        """An event comes through beside the watchers that do not read."""
        stream = rpc_pb2_grpc.WatchStub(self.channel).Watch(
            iter([rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(key=b"bystander"))]), timeout=30)
        self.test.assertTrue(next(stream).created)
        self.ask()
        self.test.assertEqual(next(stream).events[0].kv.key, b"bystander")
        stream.cancel()

    def metric(self, name):
        tls = isinstance(self.served, tls_server.TlsServer)
        with urllib.request.urlopen(f"http{'s' * tls}://{self.served.endpoint}/metrics", timeout=30,
                                    context=self.served.context() if tls else None) as answer:
            return float(re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)[1])


class HostileClientsTest(unittest.TestCase):
    def wait(self, what, claim):
        end = time.monotonic() + 60
        while not claim():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.1)

    def start(self, kind):
        served = kind("--max-answer-memory-bytes", str(ANSWER_MEMORY_BYTES))
        self.addCleanup(served.close)
        return served.start()

    def test_others_are_served_and_nothing_is_left(self):
        self.bystanders = [Bystander(self, self.start(kind)) for kind in (server.Server, tls_server.TlsServer)]
        for bystander in self.bystanders:
            bystander.fill()
        before = {each: (resident_bytes(each.served.process.pid), descriptors(each.served.process.pid))
                  for each in self.bystanders}
        hostile = {each: [] for each in self.bystanders}
        for each in self.bystanders:
            for kind in hostile_kinds.KINDS * OF_EACH_KIND:
                hostile[each].append(Hostile(each.served, kind))
                if len(hostile[each]) % 5 == 0:
                    each.ask()
        for each in self.bystanders:
            self.check_beside(each, hostile[each], *before[each])
        for each in self.bystanders:
            self.check_after(each, hostile[each], before[each][1])

    def check_beside(self, each, hostile, resident, files):
        served = each.served
        staying = len([one for one in hostile if one.kind.name not in ENDED])

        def ended():
            for one in hostile:
                one.trickle()
            each.ask()
            # Others may have been cut because answers had no room.
            return each.metric("kvorum_client_connections") <= staying + 2

        for _ in range(3):
            each.watch()
        self.wait("connections that show no protocol are cut off", ended)
        self.assertLess(resident_bytes(served.process.pid) - resident, ANSWER_MEMORY_BYTES + MORE_BYTES)
        self.assertLessEqual(descriptors(served.process.pid), files + staying + 4)
        self.assertGreater(each.metric("kvorum_client_connections_cut_total"), 0)
        self.assertLess(max(unsent(served.port)), UNSENT_BYTES)
        self.assertGreater(each.metric("etcd_debugging_mvcc_slow_watcher_total")
                           + each.metric("etcd_debugging_mvcc_watcher_total"), OF_EACH_KIND)

    def check_after(self, each, hostile, files):
        for one in hostile:
            one.socket.close()
        # The client's own connection, and the one that asks.
        self.wait("all are gone", lambda: each.metric("kvorum_client_connections") <= 2)
        self.assertEqual(each.metric("etcd_debugging_mvcc_watcher_total"), 0)
        self.wait("no descriptor is left", lambda: descriptors(each.served.process.pid) <= files + 4)
        each.watch()
        code, _ = each.served.stop()
        self.assertEqual(code, 0)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    unittest.main()
