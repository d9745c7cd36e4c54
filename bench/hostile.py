#!/usr/bin/env python3
"""Measures what clients that misbehave cost those that do not: the p99 of a steady load of puts and of reads through gRPC,
alone and beside thousands of hostile connections, by turns in one run. Prints both, their ratio, and the target (1.5).

The hostile ones, in equal parts, each opened again when the server ends it: heads of HTTP/1.1 that come a byte at a time
and never end, bodies that do not come, frames of HTTP/2 that come a byte at a time, connections that say nothing,
requests whose client closes its half, gRPC and HTTP clients that ask for ranges and watches and never read, and
WebSockets that watch and never read.

  bench/hostile.py                            5,000 connections, five rounds (about four minutes)
  bench/hostile.py --connections 100 --rounds 1 --seconds 2
  bench/hostile.py --endpoint HOST:PORT       a server that runs already, an etcd as well
"""

import argparse
import base64
import json
import os
import pathlib
import resource
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("KVORUM_BIN_DIR", str(ROOT / "build" / "release" / "bin"))
sys.path.insert(0, str(ROOT / "tests" / "process"))

import server  # noqa: E402

TARGET = 1.5
# A byte of each slow connection in this time: long before any time limit of the server.
TRICKLE_SECONDS = 10
# Connections that are opened again in one turn of the loop, so that they are not the load.
REOPENED_AT_ONCE = 20
TURN_SECONDS = 0.05

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header without compression (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def grpc_call(path, message):
    """A call whose windows are as large as they can be, and that is never read."""
    headers = b"".join(literal(*field) for field in [
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers")])
    return (PREFACE + frame(4, 0, 0, struct.pack(">HI", 4, 0x7fffffff)) + frame(8, 0, 0, struct.pack(">I", 0x7fff0000))
            + frame(1, 4, 1, headers) + frame(0, 0, 1, b"\0" + struct.pack(">I", len(message)) + message))


def http_call(path, message, more=""):
    body = json.dumps(message).encode()
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


EVERYTHING = {"key": "AA==", "range_end": "AA=="}
ALL_BYTES = b"\x0a\x01\0\x12\x01\0"  # the same as a message: key and range_end
UPGRADE = ("GET /v3/watch HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(b'0123456789abcdef').decode()}\r\n\r\n")


def masked(text):
    return bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text


class Kind:
    """What a connection sends at once, what a byte at a time for ever, and whether it then closes its half."""

    def __init__(self, name, first=b"", trickle=b"", half_closes=False):
        self.name = name
        self.first = first
        self.trickle = trickle
        self.half_closes = half_closes


KINDS = [
    Kind("slow head", b"POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"a"),
    Kind("slow body", b"POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", b" "),
    Kind("slow frames", PREFACE[:3], PREFACE[3:] + frame(4, 0, 0, b"") + frame(1, 0, 1, b"\0" * 10_000)),
    Kind("silent"),
    Kind("half-closed HTTP", http_call("/v3/watch", {"create_request": EVERYTHING}), half_closes=True),
    Kind("half-closed gRPC", grpc_call(b"/etcdserverpb.Watch/Watch", b"\x0a\x06" + ALL_BYTES), half_closes=True),
    Kind("unread ranges", http_call("/v3/kv/range", {**EVERYTHING, "limit": 1000}) * 50),
    Kind("unread gRPC range", grpc_call(b"/etcdserverpb.KV/Range", ALL_BYTES)),
    Kind("unread watch", http_call("/v3/watch", {"create_request": EVERYTHING})),
    Kind("unread gRPC watch", grpc_call(b"/etcdserverpb.Watch/Watch", b"\x0a\x06" + ALL_BYTES)),
    Kind("unread WebSocket", UPGRADE.encode(), masked(json.dumps({"create_request": EVERYTHING}).encode())),
]


class Hostile(threading.Thread):
    """All of them, on one thread. `reached`: that many have been open at once."""

    def __init__(self, address, count):
        super().__init__(daemon=True)
        self.address = address
        self.count = count
        self.stopping = False
        self.reached = threading.Event()
        self.ended = 0  # by the server, and opened again
        self.selector = selectors.DefaultSelector()
        self.open = {}  # socket: (kind, the bytes of its trickle that are sent)
        self.to_open = [KINDS[i % len(KINDS)] for i in range(count)]

    def run(self):
        next_trickle = time.monotonic()
        while not self.stopping:
            for kind in [self.to_open.pop() for _ in range(min(REOPENED_AT_ONCE, len(self.to_open)))]:
                self.connect(kind)
            if not self.to_open:
                self.reached.set()
            self.look_for_ends()
            if time.monotonic() >= next_trickle:
                next_trickle = time.monotonic() + TRICKLE_SECONDS
                for connection in list(self.open):
                    self.send_on(connection)
        for connection in self.open:
            connection.close()

    def connect(self, kind):
        try:
            connection = socket.create_connection(self.address, timeout=5)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            if kind.first:
                connection.send(kind.first)
            if kind.half_closes:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            self.to_open.insert(0, kind)
            return
        self.open[connection] = (kind, 0)
        # The end alone is looked for: what has come stays where it is.
        self.selector.register(connection, selectors.EVENT_READ)

    def look_for_ends(self):
        for key, _ in self.selector.select(TURN_SECONDS):
            connection = key.fileobj
            try:
                if connection.recv(1, socket.MSG_PEEK):
                    self.selector.unregister(connection)  # it has an answer now, and does not read it
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            self.selector.unregister(connection)
            self.end(connection)

    def send_on(self, connection):
        kind, sent = self.open[connection]
        if not kind.trickle:
            return
        try:
            if kind.name == "unread WebSocket":
                if sent == 0:
                    connection.send(kind.trickle)
            else:
                connection.send(kind.trickle[sent % len(kind.trickle):][:1])
            self.open[connection] = (kind, sent + 1)
        except BlockingIOError:
            pass
        except OSError:
            if connection in self.selector.get_map():
                self.selector.unregister(connection)
            self.end(connection)

    def end(self, connection):
        kind, _ = self.open.pop(connection)
        connection.close()
        self.ended += 1
        self.to_open.insert(0, kind)

    def stop(self):
        self.stopping = True
        self.join()


def load(options, endpoint, method):
    return subprocess.Popen(
        [os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorum-bench"), "--json", "--endpoint", endpoint, "--connections", "4",
         "--streams", "4", "--rate", str(options.rate), "--seconds", str(options.seconds), "--warmup", "1", "--keys", "10000",
         method], stdout=subprocess.PIPE, text=True)


def settle(options, endpoint):
    """The first answers and events go out until the sockets of those that never read are full: work that ends."""
    end = time.monotonic() + options.settle
    while time.monotonic() < end:
        with load(options, endpoint, "put") as running:
            running.communicate()


def measure(options, endpoint):
    """p99 in microseconds of puts and of ranges at a steady rate."""
    running = {method: load(options, endpoint, method) for method in ("put", "range")}
    measured = {}
    for method, process in running.items():
        said, _ = process.communicate()
        if process.returncode != 0:
            sys.exit(f"kvorum-bench {method} failed")
        report = json.loads(said)
        if report["failures"] > 0:
            sys.exit(f"{method}: {report['failures']} calls failed: {report['first_failure']}")
        measured[method] = report["p99_us"]
    return measured


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--settle", type=int, default=15, help="seconds of load between the connections and the measurement")
    parser.add_argument("--rate", type=int, default=1000, help="puts a second, and ranges")
    parser.add_argument("--endpoint", help="of a server that runs already")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    started = None if options.endpoint else server.Server().start()
    try:
        endpoint = options.endpoint or started.endpoint
        host, port = endpoint.rsplit(":", 1)
        figures = {"alone": [], "beside": []}
        for turn in range(options.rounds):
            figures["alone"].append(measure(options, endpoint))
            hostile = Hostile((host, int(port)), options.connections)
            hostile.start()
            try:
                if not hostile.reached.wait(120):
                    sys.exit(f"the server takes {len(hostile.open)} of {options.connections} connections")
                settle(options, endpoint)
                figures["beside"].append(measure(options, endpoint))
            finally:
                hostile.stop()
            print(f"round {turn + 1}: alone {figures['alone'][-1]}, beside {len(hostile.open)} hostile connections "
                  f"{figures['beside'][-1]} (us); {hostile.ended} were ended by the server", flush=True)
        worst = 0.0
        for method in ("put", "range"):
            alone, beside = (statistics.median(figure[method] for figure in figures[name]) for name in ("alone", "beside"))
            worst = max(worst, beside / alone)
            print(f"{method}: p99 {alone:.0f} us alone, {beside:.0f} us beside them: {beside / alone:.2f} times "
                  f"(target {TARGET})")
    finally:
        if started is not None:
            started.close()
    return 0 if worst <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
