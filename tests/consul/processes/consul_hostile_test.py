#!/usr/bin/env python3
"""Hostile HTTP against the port of Consul's API: the malformed requests, the strangers who send without an end and the
clients that misbehave which the store's own ports are tested with. Each is refused, or waits in its socket; a client as
it should be is served beside them, and memory and descriptors come back."""

import http.client
import os
import pathlib
import socket
import threading
import time
import unittest

import consul_fixture

import hostile_clients_test
import hostile_kinds
import strangers

MALFORMED = pathlib.Path(__file__).resolve().parents[2] / "rpc" / "http1" / "malformed_requests.txt"
MIB = 1 << 20
# They take some MiB; what they send would be gigabytes.
MOST_BYTES = 96 * MIB
BACK_BYTES = 48 * MIB
SECONDS = float(os.environ.get("KVORUM_STRANGER_SECONDS", "20"))
OF_EACH_KIND = 8


def malformed_requests():
    """(status, bytes) of each line."""
    for line in MALFORMED.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            status, request = line.split(" ", 1)
            yield int(status), request.encode().decode("unicode_escape").encode("latin1")


class ConsulHostileTest(consul_fixture.ConsulCase):
    # The crowd, and the client as it should be, have one address.
    flags = ("--http-max-conns-per-client", "0")

    def setUp(self):
        super().setUp()
        self.agent.put("/v1/agent/service/register", {"Name": "web", "Port": 80})
        consul_fixture.wait_until(lambda: self.agent.get("/v1/catalog/service/web"), "service")
        self.failures = []
        self.rounds = 0
        self.stop = threading.Event()

    def anonymous(self):
        with open(f"/proc/{self.agent.run.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) << 10

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.agent.run.process.pid}/fd"))

    def honest(self):
        """Registers, reads and writes, one after the other."""
        while not self.stop.is_set():
            self.rounds += 1
            try:
                self.check_it_serves(self.rounds)
            except Exception as error:  # whatever it was
                self.failures.append(repr(error))
            time.sleep(0.05)

    def check_it_serves(self, number):
        value = b"%d" % number
        assert self.agent.put("/v1/kv/honest", value) is True
        status, _, body = self.agent.call("GET", "/v1/kv/honest?raw")
        assert (status, body) == (200, value), (status, body)
        assert self.agent.get("/v1/health/service/web")[0]["Service"]["Port"] == 80

    def exchange(self, sent):
        """All that is said to these bytes, after which nothing comes."""
        with socket.create_connection((self.agent.host, self.agent.port), timeout=30) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            with connection.makefile("rb") as answer:
                return answer.read()

    def test_malformed_requests_are_refused_once(self):
        requests = list(malformed_requests())
        self.assertGreater(len(requests), 40)
        for number, (status, sent) in enumerate(requests):
            answer = self.exchange(sent)
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), (sent, answer))
            self.assertIn(b"Connection: close\r\n", answer, sent)
            self.assertEqual(answer.count(b"HTTP/1.1"), 1, sent)
            self.check_it_serves(number)

    def test_a_target_may_name_its_host(self):
        self.agent.put("/v1/kv/a", b"x")
        for target, status in (("http://other:1/v1/kv/a?raw", 200), ("HTTP://u:p@other/v1/kv/a", 200),
                               ("http://other", 200), ("http://other/v1/kv/none", 404),
                               ("http://" + "x" * 8192 + "/v1/kv/a", 200), ("ftp://other/v1/kv/a", 400),
                               ("http:///v1/kv/a", 400), ("http:/v1/kv/a", 400), ("other:1", 400)):
            answer = self.exchange(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), (target[:50], answer))

    def test_heads_without_an_end_are_refused(self):
        for sent in (b"GET /v1/kv/" + b"a" * 200_000, b"GET / HTTP/1.1\r\nHost: x\r\nx: " + b"a" * 200_000,
                     b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 5_000 + b"\r\n"):
            self.assertTrue(self.exchange(sent).startswith(b"HTTP/1.1 431 "), sent[:20])

    def test_http2_needs_tls(self):
        self.assertEqual(self.exchange(hostile_kinds.PREFACE + hostile_kinds.frame(4, 0, 0, b"")), b"")

    def test_strangers_are_bounded_and_others_are_served(self):
        before = self.anonymous()
        kinds = []
        for path in ("/v1/kv/a", "/v1/txn", "/v1/catalog/register", "/v1/agent/service/register", "/nothing"):
            kinds += strangers.framing(self.agent.port, path)
        for path in ("/v1/kv/honest", "/v1/health/service/web", "/nothing"):
            kinds += strangers.on_any_port(self.agent.port, path)
        honest = threading.Thread(target=self.honest)
        honest.start()
        crowd = strangers.Strangers(kinds, SECONDS)
        crowd.start()
        highest = 0
        while crowd.is_alive():
            self.assertIsNone(self.agent.run.process.poll(), "the agent has ended")
            highest = max(highest, self.anonymous())
            time.sleep(0.05)
        crowd.join()
        self.stop.set()
        honest.join()
        print(f"{len(crowd.strangers)} strangers, {crowd.sent // MIB} MiB sent, {crowd.come_backs} came back, "
              f"{self.rounds} honest rounds; {before // MIB} MiB before, {highest // MIB} MiB at most", flush=True)
        self.assertEqual(self.failures, [])
        self.assertGreater(self.rounds, SECONDS / 4)
        crowd.check(self)
        self.assertLess(highest - before, MOST_BYTES)
        consul_fixture.wait_until(lambda: self.anonymous() < before + BACK_BYTES, "memory that comes back")

    def test_clients_that_misbehave_leave_nothing(self):
        files = self.descriptors()
        index = self.agent.call("GET", "/v1/catalog/nodes")[1]["X-Consul-Index"]
        waits = f"GET /v1/catalog/nodes?wait=600s&index={index} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        put = "PUT /v1/kv/slow HTTP/1.1\r\nHost: x\r\n"
        self.agent.put("/v1/kv/large", b"x" * 500_000)
        kinds = [
            hostile_kinds.Kind("slow head", put.encode() + b"X-Slow: ", more=b"a"),
            hostile_kinds.Kind("slow body", put.encode() + b"Content-Length: 100000\r\n\r\n", more=b" "),
            hostile_kinds.Kind("slow frames", hostile_kinds.PREFACE[:3], more=hostile_kinds.PREFACE[3:]),
            hostile_kinds.Kind("silent"),
            hostile_kinds.Kind("half-closed", waits, hostile_kinds.HALF_CLOSES),
            hostile_kinds.Kind("unread values", b"GET /v1/kv/large HTTP/1.1\r\nHost: x\r\n\r\n" * 50),
            hostile_kinds.Kind("unread query", waits + waits),
        ]
        crowd = [hostile_clients_test.Hostile(self.agent, kind) for kind in kinds * OF_EACH_KIND]
        cut_off = [one for one in crowd if one.kind.name in ("silent", "slow frames", "slow head")]

        def is_cut_off(one):
            one.socket.setblocking(False)
            try:
                return one.socket.recv(1) == b""
            except BlockingIOError:
                return False
            except ConnectionError:
                return True

        rounds = 0
        while not all(map(is_cut_off, cut_off)):
            for one in crowd:
                one.trickle()
            rounds += 1
            self.check_it_serves(rounds)
            time.sleep(0.1)
            self.assertLess(rounds, 600)
        for one in crowd:
            one.socket.close()
        consul_fixture.wait_until(lambda: self.descriptors() <= files + 2, "descriptors that come back")
        self.check_it_serves(rounds + 1)

    def test_clients_that_leave_while_they_wait_leave_nothing(self):
        files = self.descriptors()
        index = self.agent.call("GET", "/v1/catalog/nodes")[1]["X-Consul-Index"]
        for _ in range(200):
            connection = http.client.HTTPConnection(self.agent.host, self.agent.port, timeout=30)
            connection.request("GET", f"/v1/catalog/nodes?wait=600s&index={index}")
            connection.close()
        consul_fixture.wait_until(lambda: self.descriptors() <= files + 2, "descriptors that come back")
        self.check_it_serves(1)


if __name__ == "__main__":
    unittest.main()
