#!/usr/bin/env python3
"""HTTP on the ports of real servers: who may ask, on which ports, and the peer port's questions of other members."""

import collections
import contextlib
import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

import grpc

import certificates
import cluster
import ports
import server


def ask(port, method, path, body=None, headers=None):
    """(status, headers in lower case, body) of one request over HTTP/1.1."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, names, answer.read().decode()
    finally:
        connection.close()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("good")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


def answer_to(connection, path="/version", method="GET", headers=None):
    """The status of one request, or None where the connection is closed without an answer."""
    try:
        connection.request(method, path, headers=headers or {})
        return connection.getresponse().status
    except (http.client.BadStatusLine, ConnectionError):
        return None
    finally:
        connection.close()


class ClientPortsTest(unittest.TestCase):
    def start(self, *flags, **options):
        member = server.Server(*flags, **options)
        self.addCleanup(member.close)
        return member.start()

    def test_ports_for_http_leave_grpc_to_the_others(self):
        folder = tempfile.TemporaryDirectory(prefix="kvorum-test-")
        self.addCleanup(folder.cleanup)
        certificate, key = certificates.self_signed().write(os.path.join(folder.name, "server"))
        plain, secure = ports.free_port(), ports.free_port()
        member = self.start(
            "--listen-client-http-urls", f"http://127.0.0.1:{plain},https://127.0.0.1:{secure},unix://http.sock",
            "--cert-file", certificate, "--key-file", key)
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        self.assertEqual(answer_to(http.client.HTTPConnection("127.0.0.1", plain, timeout=20)), 200)
        self.assertEqual(
            answer_to(http.client.HTTPSConnection("127.0.0.1", secure, timeout=20, context=trusting)), 200)
        self.assertEqual(answer_to(UnixConnection(os.path.join(member.folder, "http.sock"))), 200)
        self.assertIsNone(answer_to(http.client.HTTPConnection("127.0.0.1", member.port, timeout=20)))
        with member.channel() as channel:
            server.put(server.kv(channel), b"k", b"v")
        with grpc.insecure_channel(f"127.0.0.1:{plain}") as channel:
            with self.assertRaises(grpc.RpcError) as refused:
                server.get(server.kv(channel), b"k")
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE)
        log = member.log().decode()
        self.assertIn('"traffic":"grpc"', log)
        self.assertIn('"traffic":"http"', log)
        self.assertNotIn("single port", log)

    def test_a_port_cannot_be_both(self):
        member = server.Server()
        self.addCleanup(member.close)
        code, said = member.refuse("--listen-client-urls", "http://127.0.0.1:1",
                                   "--listen-client-http-urls", "http://127.0.0.1:1")
        self.assertEqual(code, 1)
        self.assertIn("cannot bind both --listen-client-urls and --listen-client-http-urls on the same url "
                      "http://127.0.0.1:1", said)

    def test_unix_sockets_serve_clients_and_members(self):
        member = server.Server("--listen-client-urls", "unix://clients:1", "--advertise-client-urls", "unix://clients:1",
                               "--listen-peer-urls", "unix://peers:1", "--initial-advertise-peer-urls", "unix://peers:1",
                               "--initial-cluster", "default=unix://peers:1", "--listen-metrics-urls", "unix://metrics:1")
        self.addCleanup(member.close)
        member.start()
        with grpc.insecure_channel("unix:" + os.path.join(member.folder, "clients:1")) as channel:
            server.put(server.kv(channel), b"k", b"v")
        for name, path in (("clients:1", "/health"), ("peers:1", "/version"), ("metrics:1", "/metrics")):
            self.assertEqual(answer_to(UnixConnection(os.path.join(member.folder, name)), path), 200, name)
        member.stop()
        self.assertFalse(os.path.exists(os.path.join(member.folder, "clients:1")))

    def test_strange_hosts_are_refused_in_plain_text(self):
        member = self.start("--host-whitelist", "good,127.0.0.1")
        self.assertEqual(ask(member.port, "GET", "/version")[0], 200)
        self.assertEqual(ask(member.port, "GET", "/version", headers={"Host": "good:99"})[0], 200)
        for method, path in (("GET", "/version"), ("OPTIONS", "/version"), ("GET", "/nothing")):
            status, headers, body = ask(member.port, method, path, headers={"Host": "bad:99"})
            self.assertEqual((status, headers["x-content-type-options"]), (421, "nosniff"))
            self.assertIn('e.g. etcd --host-whitelist "bad"\n', body)
        # gRPC and the peer port are not asked.
        with member.channel() as channel:
            server.put(server.kv(channel), b"k", b"v")
        self.assertEqual(ask(member.peer_port, "GET", "/version", headers={"Host": "bad"})[0], 200)

    def test_pages_of_allowed_origins_may_read_the_answers(self):
        for flags, origin, allowed in (
                ((), "http://any:1", "*"),
                (("--cors", "http://a:80,http://b:81"), "http://b:81", "http://b:81"),
                (("--cors", "http://a:80,http://b:81"), "http://c:80", None)):
            member = self.start(*flags)
            for method, path, status in (("GET", "/version", 200), ("GET", "/nothing", 404), ("OPTIONS", "/nothing", 200)):
                answer = ask(member.port, method, path, headers={"Origin": origin})
                self.assertEqual((answer[0], answer[1].get("access-control-allow-origin")), (status, allowed))
                self.assertEqual(answer[1].get("access-control-allow-methods"),
                                 allowed and "POST, GET, OPTIONS, PUT, DELETE")
                self.assertEqual(answer[1].get("access-control-allow-headers"),
                                 allowed and "accept, content-type, authorization")
            self.assertEqual(ask(member.peer_port, "GET", "/version")[1].get("access-control-allow-origin"), None)
            member.stop()

    def test_a_port_is_shared_if_both_say_so(self):
        first = self.start("--socket-reuse-port")
        second = server.Server("--socket-reuse-port", "--listen-client-urls", f"http://127.0.0.1:{first.port}",
                               "--listen-peer-urls", f"http://127.0.0.1:{first.peer_port}")
        self.addCleanup(second.close)
        second.start()
        alone = server.Server("--listen-client-urls", f"http://127.0.0.1:{first.port}")
        self.addCleanup(alone.close)
        code, said = alone.refuse()
        self.assertEqual(code, 1)
        self.assertIn("bind: address already in use", said)


class PprofTest(unittest.TestCase):
    def test_a_profile_opens_in_go_tool_pprof(self):
        with server.Server("--enable-pprof") as member:
            member.start()
            taken = []
            taking = threading.Thread(target=lambda: taken.append(self.fetch(member, "profile?seconds=2")))
            taking.start()
            # One at a time: somebody else is told so, whoever comes first.
            with member.channel() as channel:
                while taking.is_alive():
                    for i in range(200):
                        server.put(server.kv(channel), b"k%d" % i, b"v" * 100)
            taking.join()
            status, headers, profile = taken[0]
            self.assertEqual((status, headers["content-type"]), (200, "application/octet-stream"))
            self.assertGreater(len(gzip.decompress(profile)), 1000)
            if shutil.which("go") is None:
                self.skipTest("there is no go")
            path = os.path.join(member.folder, "profile")
            with open(path, "wb") as file:
                file.write(profile)
            shown = subprocess.run(["go", "tool", "pprof", "-top", "-cum", "-nodecount=1000", path], capture_output=True,
                                   text=True, timeout=300, check=False)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("Type: cpu", shown.stdout)
            self.assertIn("kvorum::rpc::Loop::", shown.stdout)

    def fetch(self, member, page, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", member.port, timeout=60)
        connection.request(method, f"/debug/pprof/{page}", body=body)
        answer = connection.getresponse()
        with contextlib.closing(connection):
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def test_one_profile_is_made_at_a_time(self):
        with server.Server("--enable-pprof") as member:
            member.start()
            statuses = []
            threads = [threading.Thread(target=lambda: statuses.append(self.fetch(member, "profile?seconds=3")))
                       for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            # Whoever comes when the first is done, on a busy machine, has one as well.
            self.assertIn(200, [answer[0] for answer in statuses])
            for status, _, text in statuses:
                if status != 200:
                    self.assertEqual(
                        (status, text), (500, b"Could not enable CPU profiling: cpu profiling already in use\n"))
            self.assertEqual(self.fetch(member, "profile?seconds=1")[0], 200)
            self.assertEqual(self.fetch(member, "profile?seconds=9999999")[0], 400)
            # It ends while a profile is made.
            late = http.client.HTTPConnection("127.0.0.1", member.port, timeout=60)
            self.addCleanup(late.close)
            late.request("GET", "/debug/pprof/profile?seconds=60")
            self.assertIn(self.fetch(member, "profile?seconds=1")[0], (200, 500))
            self.assertEqual(member.stop()[0], 0)
            self.assertIn(late.getresponse().status, (500, 503))

    def test_the_other_pages_are_text(self):
        with server.Server("--enable-pprof") as member:
            member.start()
            for page, content in (("", b"\">profile</a>"), ("heap", b"heap_bytes_in_use "), ("threads", b"\tapply\t"),
                                  ("cmdline", b"\x00--enable-pprof"), ("symbol", b"num_symbols: 1\n")):
                status, headers, body = self.fetch(member, page)
                self.assertEqual(status, 200, page)
                self.assertIn(content, body)
                self.assertTrue(headers["content-type"].startswith("text/"), page)
            self.assertEqual(self.fetch(member, "block")[::2], (404, b"Unknown profile\n"))
            self.assertEqual(self.fetch(member, "symbol", "POST", "0x1+nonsense++0x2")[2], b"num_symbols: 1\n")

    def test_no_password_is_shown(self):
        with server.Server("--enable-pprof", "--discovery-password=secret1", "--discovery-user", "me:secret2") as member:
            member.start()
            connection = http.client.HTTPConnection("127.0.0.1", member.port, timeout=60)
            self.addCleanup(connection.close)
            connection.request("GET", "/debug/vars")
            for page in (connection.getresponse().read(), self.fetch(member, "cmdline")[2]):
                self.assertNotIn(b"secret", page)
                self.assertIn(b"--discovery-password=***", page)
                self.assertIn(b"--enable-pprof", page)

    def test_the_pages_that_wait_have_a_bound(self):
        with server.Server("--enable-pprof") as member:
            member.start()
            sockets = [socket.create_connection(("127.0.0.1", member.port)) for _ in range(200)]
            # They all arrive while it stands still, so that it finds them at once.
            cluster.stop_all_threads(member.process.pid)
            for one in sockets:
                one.sendall(b"GET /debug/pprof/heap HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            os.kill(member.process.pid, signal.SIGCONT)
            statuses = collections.Counter()
            for one in sockets:
                with one, one.makefile("rb") as answer:
                    statuses[int(answer.readline().split()[1])] += 1
            self.assertEqual(set(statuses), {200, 503}, statuses)
            self.assertEqual(self.fetch(member, "symbol", "POST", "0" * 200_000)[0], 413)
            self.assertEqual(self.fetch(member, "heap")[0], 200)

    def test_nothing_of_it_is_there_unless_it_is_asked_for(self):
        with server.Server() as member:
            member.start()
            for page in ("", "profile?seconds=1", "heap"):
                self.assertEqual(self.fetch(member, page)[0], 404)


class PeerPortTest(unittest.TestCase):
    def start(self):
        member = server.Server()
        self.addCleanup(member.close)
        return member.start()

    def test_the_hash_of_a_members_keys_is_that_of_the_api(self):
        member = self.start()
        with member.channel() as channel:
            for i in range(5):
                server.put(server.kv(channel), b"k%d" % (i % 2), b"v%d" % i)
            of_api = server.maintenance(channel).HashKV(server.rpc_pb2.HashKVRequest(revision=4), timeout=10)
        status, headers, body = ask(member.peer_port, "GET", "/members/hashkv", '{"revision":4}')
        self.assertEqual((status, headers["content-type"]), (200, "application/json"))
        self.assertEqual(json.loads(body), {"header": {"revision": 6}, "hash": of_api.hash,
                                            "compact_revision": of_api.compact_revision, "hash_revision": 4})
        cluster_id = headers["x-etcd-cluster-id"]
        self.assertEqual(
            ask(member.peer_port, "GET", "/members/hashkv", "{}", {"X-Etcd-Cluster-ID": cluster_id})[0], 200)
        status, _, body = ask(member.peer_port, "GET", "/members/hashkv", "{}", {"X-Etcd-Cluster-ID": "1"})
        self.assertEqual((status, body), (412, "cluster ID mismatch\n"))
        status, _, body = ask(member.peer_port, "GET", "/members/hashkv", '{"revision":7}')
        self.assertEqual((status, body), (400, "mvcc: required revision is a future revision\n"))

    def test_no_downgrade_is_under_way(self):
        member = self.start()
        status, headers, body = ask(member.peer_port, "GET", "/downgrade/enabled")
        self.assertEqual((status, headers["content-type"], body), (200, "text/plain", "false"))
        status, headers, _ = ask(member.peer_port, "POST", "/downgrade/enabled")
        self.assertEqual((status, headers["allow"], headers["x-content-type-options"]), (405, "GET", "nosniff"))


if __name__ == "__main__":
    unittest.main()
