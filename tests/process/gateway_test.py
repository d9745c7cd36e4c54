"""The JSON gateway of a real process: over HTTP/1.1 and HTTP/2, plain and under TLS, with tokens and certificates, streams
that go on, and clients that leave or never read."""

import base64
import http.client
import json
import os
import socket
import subprocess
import time
import unittest

import server
import tls_server


def b64(value):
    return base64.b64encode(value).decode()


def curl(*arguments, timeout=30):
    done = subprocess.run(["curl", "-sS", *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise AssertionError(f"curl {arguments}: {done.stdout}{done.stderr}")
    return done.stdout


class Lines:
    """A stream's lines, as they come."""

    def __init__(self, test, port, path, *messages):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        test.addCleanup(self.connection.close)
        self.connection.request("POST", path, body="".join(json.dumps(message) for message in messages))
        self.response = self.connection.getresponse()

    def next(self):
        return json.loads(self.response.readline())["result"]


class GatewayTest(unittest.TestCase):
    def start(self, *flags):
        started = server.Server(*flags)
        self.addCleanup(started.close)
        return started.start()

    def post(self, served, path, message, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
        connection.request("POST", path, body=json.dumps(message), headers=headers or {})
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer

    def ok(self, served, path, message, headers=None):
        status, answer = self.post(served, path, message, headers)
        self.assertEqual(status, 200, answer)
        return answer

    def test_a_connection_serves_call_after_call(self):
        served = self.start()
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
        self.addCleanup(connection.close)
        for i in range(1, 20):
            connection.request("POST", "/v3/kv/put", body=json.dumps({"key": b64(b"k"), "value": b64(b"x" * i),
                                                                      "prev_kv": True}))
            answer = json.loads(connection.getresponse().read())
            self.assertEqual(answer["header"]["revision"], str(i + 1))
            if i > 1:
                self.assertEqual(answer["prev_kv"]["value"], b64(b"x" * (i - 1)))
        # In chunks, too.
        connection.request("POST", "/v3/kv/range", body=iter([b'{"key":', b'"aw=="}']), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})
        self.assertEqual(json.loads(connection.getresponse().read())["count"], "1")
        # What gRPC wrote is what the gateway reads.
        with served.channel() as channel:
            server.put(server.kv(channel), b"g", b"rpc")
        self.assertEqual(self.ok(served, "/v3/kv/range", {"key": b64(b"g")})["kvs"][0]["value"], b64(b"rpc"))

    def test_large_values_and_answers_pass(self):
        served = self.start()
        value = os.urandom(1_400_000)
        for i in range(8):
            self.ok(served, "/v3/kv/put", {"key": b64(b"big%d" % i), "value": b64(value)})
        answer = self.ok(served, "/v3/kv/range", {"key": b64(b"big"), "range_end": b64(b"bih")})
        self.assertEqual([base64.b64decode(kv["value"]) == value for kv in answer["kvs"]], [True] * 8)
        status, answer = self.post(served, "/v3/kv/put", {"key": b64(b"k"), "value": b64(b"x" * 1_600_000)})
        self.assertEqual((status, answer), (400, {"code": 3, "message": "etcdserver: request is too large"}))
        status, answer = self.post(served, "/v3/kv/put", {"key": b64(b"k"), "value": b64(b"x" * 2_200_000)})
        self.assertEqual((status, answer["code"]), (429, 8))
        self.assertIn("grpc: received message larger than max (", answer["message"])

    def test_a_watch_tells_what_happens_until_its_client_leaves(self):
        served = self.start()
        watch = Lines(self, served.port, "/v3/watch", {"create_request": {"key": b64(b"w"), "range_end": b64(b"x"),
                                                                          "prev_kv": True}})
        self.assertTrue(watch.next()["created"])
        self.ok(served, "/v3/kv/put", {"key": b64(b"w1"), "value": b64(b"1")})
        self.assertEqual(watch.next()["events"][0]["kv"]["value"], b64(b"1"))
        self.ok(served, "/v3/kv/deleterange", {"key": b64(b"w1")})
        event = watch.next()["events"][0]
        self.assertEqual((event["type"], event["prev_kv"]["value"]), ("DELETE", b64(b"1")))
        self.assertEqual(self.watchers(served), 1)
        watch.response.close()
        watch.connection.close()
        self.wait(lambda: self.watchers(served) == 0)

    def watchers(self, served):
        text = curl(f"http://127.0.0.1:{served.port}/metrics")
        name = "etcd_debugging_mvcc_watcher_total "
        return sum(float(line.split()[1]) for line in text.splitlines() if line.startswith(name))

    def wait(self, holds):
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_a_watch_that_nobody_reads_holds_up_nobody(self):
        served = self.start()
        stuck = Lines(self, served.port, "/v3/watch", {"create_request": {"key": b64(b"s")}})
        self.assertTrue(stuck.next()["created"])
        value = b64(b"v" * 500_000)
        for _ in range(40):
            self.ok(served, "/v3/kv/put", {"key": b64(b"s"), "value": value})
        seen = 0
        while seen < 40:
            seen += len(stuck.next()["events"])
        self.assertEqual(seen, 40)

    def test_a_body_that_nobody_reads_is_not_asked_for(self):
        served = self.start()
        for line, said in (("POST /v3/nope", b"404 Not Found"), ("POST /nope", b"404 Not Found"),
                           ("GET /v3/kv/range", b"501 Not Implemented"), ("POST /version", b"405 Method Not Allowed")):
            with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client, client.makefile("rb") as answer:
                client.sendall(f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n".encode())
                self.assertEqual(answer.readline(), b"HTTP/1.1 " + said + b"\r\n")
                self.assertIn(b"Connection: close\r\n", answer.read())
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client, client.makefile("rb") as answer:
            client.sendall(b"POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            self.assertEqual(answer.readline(), b"HTTP/1.1 100 Continue\r\n")

    def test_a_body_whose_client_waits_for_leave_is_served_while_it_is_open(self):
        served = self.start()
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as client, client.makefile("rb") as answer:
            client.sendall(b"POST /v3/watch HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                           b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(answer.readline(), b"HTTP/1.1 100 Continue\r\n")

            def send(text):
                client.sendall(b"%x\r\n%s\r\n" % (len(text), text))

            def result():
                line = answer.readline()
                while b'{"result"' not in line:
                    self.assertNotEqual(line, b"")
                    line = answer.readline()
                return json.loads(line)["result"]
            create = json.dumps({"create_request": {"key": b64(b"w")}}).encode()
            send(create)
            self.assertTrue(result()["created"])
            send(create[:7])
            send(create[7:])
            self.assertEqual(result()["watch_id"], "1")
            # After what is no chunk nothing more is read, and the watch goes on.
            client.sendall(b"no chunk\r\n")
            self.ok(served, "/v3/kv/put", {"key": b64(b"w")})
            self.assertEqual(len(result()["events"]), 1)
        self.wait(lambda: self.watchers(served) == 0)

    def test_a_lock_is_not_kept_for_a_client_that_left(self):
        served = self.start()
        first = self.ok(served, "/v3/lock/lock", {"name": b64(b"l")})
        waiting = socket.create_connection(("127.0.0.1", served.port), timeout=30)
        body = json.dumps({"name": b64(b"l")}).encode()
        waiting.sendall(b"POST /v3/lock/lock HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        prefix = {"key": b64(b"l/"), "range_end": b64(b"l0"), "count_only": True}
        self.wait(lambda: self.ok(served, "/v3/kv/range", prefix)["count"] == "2")
        waiting.close()
        self.wait(lambda: self.ok(served, "/v3/kv/range", prefix)["count"] == "1")
        self.ok(served, "/v3/lock/unlock", {"key": first["key"]})
        self.ok(served, "/v3/lock/lock", {"name": b64(b"l")})

    def test_users_come_with_their_tokens(self):
        served = self.start()
        for path, message in [
                ("auth/user/add", {"name": "root", "password": "secret"}), ("auth/role/add", {"name": "root"}),
                ("auth/user/grant", {"user": "root", "role": "root"}), ("auth/user/add", {"name": "u",
                                                                                          "password": "p"}),
                ("auth/enable", {})]:
            self.ok(served, "/v3/" + path, message)
        token = self.ok(served, "/v3/auth/authenticate", {"name": "root", "password": "secret"})["token"]
        other = self.ok(served, "/v3/auth/authenticate", {"name": "u", "password": "p"})["token"]
        put = {"key": b64(b"a")}
        self.ok(served, "/v3/kv/put", put, {"Authorization": token})
        self.ok(served, "/v3/kv/put", put, {"Grpc-Metadata-Token": token})
        self.assertEqual(self.post(served, "/v3/kv/put", put, {"Authorization": other}),
                         (403, {"code": 7, "message": "etcdserver: permission denied"}))
        self.assertEqual(self.post(served, "/v3/kv/put", put), (400, {"code": 3,
                                                                      "message": "etcdserver: user name is empty"}))
        self.assertEqual(self.post(served, "/v3/kv/put", put, {"Authorization": "x"}),
                         (401, {"code": 16, "message": "etcdserver: invalid auth token"}))

    def test_it_is_there_under_tls_over_both_versions_of_http(self):
        tls = tls_server.TlsServer()
        self.addCleanup(tls.close)
        tls.start()
        base = f"https://127.0.0.1:{tls.port}/v3/"
        for version in ("--http1.1", "--http2"):
            trusted = [version, "--cacert", tls.files.authorities, "-w", " %{http_version} %{http_code}"]
            self.assertIn('"header":', curl(*trusted, "-d", json.dumps({"key": b64(b"t"), "value": b64(b"v")}),
                                            base + "kv/put"))
            said = curl(*trusted, "-d", json.dumps({"key": b64(b"t")}), base + "kv/range")
            self.assertIn(b64(b"v"), said)
            self.assertTrue(said.endswith(" 2 200" if version == "--http2" else " 1.1 200"), said)
            said = curl(*trusted, "-d", '{"ID":"7"}{"ID":"8"}', base + "lease/keepalive")
            self.assertEqual(said.count('{"result":{"header":'), 2)
            # A watch whose client goes when it has seen enough.
            watch = subprocess.Popen(["curl", "-sSN", version, "--cacert", tls.files.authorities, "-d",
                                      json.dumps({"create_request": {"key": b64(b"t"), "start_revision": "1"}}),
                                      base + "watch"],
                                     stdout=subprocess.PIPE, text=True)
            self.assertTrue(json.loads(watch.stdout.readline())["result"]["created"])
            self.assertEqual(json.loads(watch.stdout.readline())["result"]["events"][0]["kv"]["key"], b64(b"t"))
            watch.terminate()
            watch.wait(30)
            watch.stdout.close()
            self.wait(lambda: "etcd_debugging_mvcc_watcher_total 0" in curl("--cacert", tls.files.authorities,
                                                                            base[:-3] + "metrics"))

    def test_a_silent_connection_is_probed(self):
        served = self.start()
        watch = Lines(self, served.port, "/v3/watch", {"create_request": {"key": b64(b"w")}})
        self.assertTrue(watch.next()["created"])

        def timers():
            with open("/proc/net/tcp", encoding="ascii") as table:
                rows = [line.split() for line in table][1:]
            return [row[5][:2] for row in rows if row[1].endswith(f":{served.port:04X}") and row[3] == "01"]
        self.wait(lambda: timers() == ["02"])  # the kernel's keep-alive

    def test_a_stop_ends_its_streams(self):
        served = self.start()
        watch = Lines(self, served.port, "/v3/watch", {"create_request": {"key": b64(b"w")}})
        self.assertTrue(watch.next()["created"])
        code, _ = served.stop(timeout=30)
        self.assertEqual(code, 0)

    def test_it_can_be_turned_off(self):
        served = self.start("--enable-grpc-gateway=false")
        said = curl("-w", " %{http_code}", "-d", "{}", f"http://127.0.0.1:{served.port}/v3/kv/range")
        self.assertEqual(said, "404 page not found\n 404")


if __name__ == "__main__":
    unittest.main()
