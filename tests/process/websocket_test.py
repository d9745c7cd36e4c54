"""WebSocket on the JSON gateway of a real process: calls and streams, plain and under TLS, tokens from subprotocol and
cookie, hostile frames, clients that send too much, never read, or go on after their first request."""

import base64
import json
import struct
import subprocess
import time
import unittest

import server
import tls_server
import websocket
from websocket import BINARY, CLOSE, PING, PONG, TEXT, WebSocket


def b64(value):
    return base64.b64encode(value).decode()


def code_of(payload):
    return struct.unpack(">H", payload[:2])[0]


CREATE = json.dumps({"create_request": {"key": b64(b"w")}}).encode()


class WebSocketTest(unittest.TestCase):
    def start(self, *flags):
        started = server.Server(*flags)
        self.addCleanup(started.close)
        return started.start()

    def open(self, served, path, headers=(), **how):
        opened = WebSocket(served.port, path, headers, **how)
        self.addCleanup(opened.close)
        return opened

    def watch(self, served, **how):
        opened = self.open(served, "/v3/watch", **how)
        self.assertEqual(opened.status, 101, opened.head)
        opened.send(CREATE)
        self.assertTrue(self.result(opened)["created"])
        return opened

    def result(self, opened):
        opcode, payload = opened.receive()
        self.assertEqual(opcode, TEXT, payload)
        return json.loads(payload)["result"]

    def ask(self, served, path, message, headers=()):
        """A call with one answer, after which the connection is closed."""
        opened = self.open(served, path, headers)
        opened.send(json.dumps(message).encode())
        frames = opened.receive_all()
        self.assertEqual(len(frames), 1, frames)
        return json.loads(frames[0][1])

    def test_a_watch_takes_requests_as_they_come(self):
        served = self.start()
        opened = self.watch(served)
        opened.send(b'{"create_request":{"key":"', final=False)
        opened.send(b"ping", opcode=PING)
        opened.send(b'eA=="}}', opcode=0)
        self.assertEqual(opened.receive(), (PONG, b"ping"))
        self.assertEqual(self.result(opened)["watch_id"], "1")
        self.ask(served, "/v3/kv/put", {"key": b64(b"w"), "value": b64(b"1")})
        self.assertEqual(self.result(opened)["events"][0]["kv"]["value"], b64(b"1"))
        opened.send(b'{"cancel_request":{"watch_id":1}}', opcode=BINARY)
        self.assertTrue(self.result(opened)["canceled"])
        opened.send(struct.pack(">H", 1000), opcode=CLOSE)
        self.assertEqual(opened.receive_all(), [(CLOSE, struct.pack(">H", 1000))])

    def test_calls_and_errors_are_answered_and_closed(self):
        served = self.start()
        self.ask(served, "/v3beta/kv/put?method=GET", {"key": b64(b"a"), "value": b64(b"1")})
        self.assertEqual(self.ask(served, "/v3/kv/range", {"key": b64(b"a")})["count"], "1")
        self.assertEqual(self.ask(served, "/v3/kv/range", {"key": 5})["code"], 3)
        self.assertEqual(self.ask(served, "/v3/nope", {}), {"code": 5, "message": "Not Found"})
        opened = self.open(served, "/v3/lease/keepalive")
        for lease in (1, 2):
            opened.send(b'{"ID":%d}' % lease)
            self.assertEqual(self.result(opened)["ID"], str(lease))
        opened.send(b"no JSON")
        frames = opened.receive_all()
        self.assertEqual([opcode for opcode, _ in frames], [TEXT])
        self.assertEqual(json.loads(frames[0][1])["error"]["code"], 3)

    def test_other_requests_are_no_websockets(self):
        served = self.start()
        base = ["Host: x", "Connection: Upgrade", "Upgrade: websocket"]
        for method, path, more, status in [
                ("GET", "/v3/watch", [], 400), ("GET", "/v3/watch", ["Sec-WebSocket-Version: 13"], 400),
                ("GET", "/v3/watch", ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: YWJj"], 400),
                ("POST", "/v3/watch", ["Content-Length: 0"], 405), ("GET", "/version", [], 200)]:
            opened = self.open(served, path, request=[f"{method} {path} HTTP/1.1", *base, *more])
            self.assertEqual(opened.status, status, opened.head)

    def test_tokens_come_as_subprotocol_or_cookie(self):
        served = self.start()
        for path, message in [
                ("auth/user/add", {"name": "root", "password": "secret"}), ("auth/role/add", {"name": "root"}),
                ("auth/user/grant", {"user": "root", "role": "root"}), ("auth/enable", {})]:
            self.ask(served, "/v3/" + path, message)
        token = self.ask(served, "/v3/auth/authenticate", {"name": "root", "password": "secret"})["token"]
        get = {"key": b64(b"a")}
        self.assertEqual(self.ask(served, "/v3/kv/range", get)["code"], 3)
        # A header of the handshake does not count.
        self.assertEqual(self.ask(served, "/v3/kv/range", get, [f"Authorization: {token}"])["code"], 3)
        for headers in ([f"Sec-WebSocket-Protocol: Bearer, {token}"], [f"Cookie: a=b; token={token}"],
                        ["Sec-WebSocket-Protocol: Bearer, x", f"Cookie: token={token}"]):
            self.assertIn("header", self.ask(served, "/v3/kv/range", get, headers))
        # A browser sends the cookie along with what any page asks of its host.
        for origin, code in [("http://localhost", None), ("https://localhost:8080", None), ("http://evil", 3),
                             ("http://localhost.evil", 3), ("null", 3), ("http://evil\r\nOrigin: http://localhost", 3)]:
            answer = self.ask(served, "/v3/kv/range", get, [f"Cookie: token={token}", f"Origin: {origin}"])
            self.assertEqual(answer.get("code"), code, origin)
        self.assertIn("header", self.ask(served, "/v3/kv/range", get,
                                         [f"Sec-WebSocket-Protocol: Bearer, {token}", "Origin: http://evil"]))
        self.assertEqual(self.ask(served, "/v3/kv/range", get, ["Sec-WebSocket-Protocol: Bearer, x"])["code"], 16)
        opened = self.open(served, "/v3/watch", ["Sec-WebSocket-Protocol: Bearer, " + token])
        self.assertIn(b"\r\nSec-WebSocket-Protocol: Bearer", opened.head)

    def test_pages_of_strange_origins_get_none_where_origins_are_named(self):
        served = self.start("--cors", "http://good.example:80")
        for origin, status in [("http://good.example", 101), ("http://evil.example", 403), ("null", 403),
                               (f"http://localhost:{served.port}", 403), ("http://localhost", 101)]:
            opened = self.open(served, "/v3/watch", [f"Origin: {origin}"])
            self.assertEqual(opened.status, status, origin)
        self.watch(served)

    def test_it_is_there_under_tls(self):
        tls = tls_server.TlsServer()
        self.addCleanup(tls.close)
        tls.start()
        opened = self.watch(tls, context=tls.context())
        opened.send(CREATE)
        self.assertEqual(self.result(opened)["watch_id"], "1")
        # Over HTTP/2 there is none; a body is served while it is open.
        curl = subprocess.Popen(["curl", "-sSN", "--http2", "--cacert", tls.files.authorities, "-X", "POST", "-T", ".",
                                 f"https://127.0.0.1:{tls.port}/v3/watch"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(curl.wait, 30)
        self.addCleanup(curl.stdout.close)
        for watch_id in (None, "1", "2"):
            curl.stdin.write(CREATE)
            curl.stdin.flush()
            self.assertEqual(json.loads(curl.stdout.readline())["result"].get("watch_id"), watch_id)
        curl.stdin.close()
        curl.terminate()

    def test_hostile_frames_are_closed(self):
        served = self.start()
        for how, code in [({"masked": False}, 1002), ({"reserved": 4}, 1002), ({"opcode": 3}, 1002),
                          ({"opcode": 0}, 1002)]:
            opened = self.watch(served)
            opened.send(CREATE, **how)
            self.assertEqual([(opcode, code_of(payload)) for opcode, payload in opened.receive_all()], [(CLOSE, code)], how)
        opened = self.watch(served)
        opened.send(b"\xff\xfe")
        self.assertEqual([code_of(payload) for _, payload in opened.receive_all()], [1007])
        opened = self.watch(served)
        opened.send(b"x" * 200, opcode=PING)
        self.assertEqual([opcode for opcode, _ in opened.receive_all()], [CLOSE])
        # The length tells; the rest need not come.
        opened = self.watch(served)
        opened.socket.sendall(b"\x81\xff" + struct.pack(">Q", 1 << 40) + b"mask" + b"begin")
        self.assertEqual([code_of(payload) for _, payload in opened.receive_all()], [1009])
        opened = self.watch(served)
        opened.send(CREATE[:5], final=False)
        opened.close()
        self.assertTrue(self.watch(served))

    def test_a_message_has_the_bound_of_grpc(self):
        served = self.start()
        opened = self.open(served, "/v3/watch")
        opened.send(json.dumps({"create_request": {"key": b64(b"k" * 2_200_000)}}).encode())
        frames = opened.receive_all()
        self.assertEqual(json.loads(frames[0][1])["error"]["code"], 8, frames)

    def test_what_nobody_reads_stays_with_the_client(self):
        """It neither reads its answers nor stops sending: both stop in the sockets' buffers."""
        served = self.start("--max-answer-memory-bytes", str(64 << 20))
        opened = self.watch(served)
        opened.socket.settimeout(2)
        request = websocket.frame(json.dumps({"create_request": {"key": b64(b"k")}}).encode(), masked=True)
        pings = websocket.frame(b"p" * 125, opcode=PING) * 500
        sent = 0
        with self.assertRaises(TimeoutError):
            while sent < 100 << 20:
                opened.socket.sendall(pings + request)
                sent += len(pings)
        with open(f"/proc/{served.process.pid}/status", encoding="ascii") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        self.assertLess(resident, 200 << 10)
        self.assertEqual(self.ask(served, "/v3/kv/put", {"key": b64(b"a")})["header"]["revision"], "2")

    def test_a_client_that_leaves_ends_its_watch(self):
        served = self.start()
        opened = self.watch(served)
        opened.close()
        end = time.monotonic() + 60
        while self.watchers(served) > 0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def watchers(self, served):
        text = subprocess.run(["curl", "-sS", f"http://127.0.0.1:{served.port}/metrics"], capture_output=True, text=True,
                              check=True).stdout
        name = "etcd_debugging_mvcc_watcher_total "
        return sum(float(line.split()[1]) for line in text.splitlines() if line.startswith(name))

    def test_a_stop_ends_it(self):
        served = self.start()
        opened = self.watch(served)
        code, _ = served.stop(timeout=30)
        self.assertEqual(code, 0)
        self.assertEqual([(opcode, code_of(payload)) for opcode, payload in opened.receive_all()], [(CLOSE, 1001)])


if __name__ == "__main__":
    unittest.main()
