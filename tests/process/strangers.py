"""Strangers who send without an end: what each kind sends, and many of them on one thread.

HTTP/1: bodies whose framing has no end, heads and trailers without an end, requests whose answers nobody reads, bytes
after a request that is being handled, bodies that nobody reads any more, halves of JSON values, and large bodies of calls
that wait. HTTP/2: headers without an end, headers that are large when they are decoded, frames that must be answered and
whose answers nobody reads, frames that say nothing. A stranger that is cut off comes back.
"""

import random
import selectors
import socket
import struct
import threading
import time

import hostile_kinds
import websocket

MIB = 1 << 20
OF_EACH_KIND = 3
# What one wake-up sends, so that all have their turn.
PIECE = 256 << 10
# A trickle is a byte now and then.
TRICKLE_SECONDS = 0.02

CREATE = b'{"create_request":{"key":"YQ=="}}'


def post(path, *fields):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *fields, "", ""]).encode()


def chunked(path, *fields):
    return post(path, "Transfer-Encoding: chunked", *fields)


def chunk(data):
    return b"%x\r\n" % len(data) + data + b"\r\n"


def repeated(piece):
    return piece * (PIECE // len(piece) + 1)


class Kind:
    """`first`, then `more` over and over; `trickles`: a byte of it now and then. `is_cut_off`: by the member, several times
    a minute."""

    def __init__(self, name, port, first, more, trickles=False, is_cut_off=True):
        self.name = name
        self.port = port
        self.first = first
        self.more = more if trickles else repeated(more)
        self.trickles = trickles
        self.is_cut_off = is_cut_off

    def at_least(self):
        """The bytes that three of it send in some seconds, whatever becomes of them."""
        return OF_EACH_KIND * (min(len(self.first), PIECE) + (1 if self.trickles else PIECE))


def framing(port, path):
    start = chunked(path)
    return [
        Kind(f"extension {path}", port, start + b"1;", b"x"),
        Kind(f"last extension {path}", port, start + b"0;", b"x"),
        Kind(f"rescanned {path}", port, start + b"0;" + b"x" * (64 << 20) + b"\r\n", b"x", trickles=True),
        Kind(f"zeros {path}", port, start, b"0"),
        Kind(f"trailers {path}", port, start + b"0\r\n", b"a: b\r\n"),
        Kind(f"trailer {path}", port, start + b"0\r\na: ", b"b"),
        Kind(f"slow extension {path}", port, start + b"1;", b"x", trickles=True, is_cut_off=False),
    ]


def on_any_port(port, path):
    get = f"GET {path} HTTP/1.1\r\nHost: x\r\n"
    return [
        Kind(f"head {path}", port, get.encode(), b"a: b\r\n"),
        Kind(f"fields {path}", port, get.encode() + b"a:\r\n" * 10_000, b"a:\r\n", trickles=True),
        Kind(f"unread {path}", port, b"", get.encode() + b"\r\n", is_cut_off=False),
    ]


def websocket_start(path):
    return (f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n").encode()


def with_length(path, body, length=None):
    return post(path, f"Content-Length: {length or len(body)}") + body


def unfinished_body(port, path):
    """Where no request has a body of that size."""
    return [Kind(f"half a body {path}", port, with_length(path, b" " * (7 * MIB), 8 * MIB), b" ", trickles=True)]


def gateway(port):
    expects = "Expect: 100-continue"
    return [
        Kind("after a watch", port, with_length("/v3/watch", CREATE), b"x", is_cut_off=False),
        Kind("after a watch, requests", port, with_length("/v3/watch", CREATE), with_length("/v3/kv/range", b"{}"),
             is_cut_off=False),
        Kind("open, no JSON", port, chunked("/v3/watch", expects) + chunk(b"[nonsense"), chunk(b"x" * 1024)),
        Kind("open, half a value", port, chunked("/v3/watch", expects) + chunk(CREATE + b'{"'), chunk(b"x" * 1024)),
        Kind("open, half a put", port, chunked("/v3/kv/put", expects) + chunk(b'{"key":"'), chunk(b"A" * 1024)),
        Kind("open, values", port, chunked("/v3/watch", expects), chunk(CREATE), is_cut_off=False),
        Kind("WebSocket, no JSON", port, websocket_start("/v3/watch") + websocket.frame(b"[nonsense"),
             websocket.frame(b"x" * 1024)),
        Kind("WebSocket, half a value", port, websocket_start("/v3/watch") + websocket.frame(CREATE + b'{"'),
             websocket.frame(b"x" * 1024)),
        Kind("WebSocket, one message", port, websocket_start("/v3/watch") + websocket.frame(b"{", final=False),
             websocket.frame(b" " * 1024, opcode=0, final=False)),
        # Calls that last, with as much of a body as there may be.
        Kind("space after a watch", port, with_length("/v3/watch", CREATE + b" " * (8 * MIB - 100)), b"x", trickles=True),
        Kind("values after a watch", port, with_length("/v3/watch", CREATE * (7 * MIB // len(CREATE))), b"x",
             trickles=True),
        Kind("a lock that waits", port, with_length("/v3/lock/lock", b'{"name":"YQ=="}' + b" " * (8 * MIB - 100)), b"x",
             trickles=True),
        Kind("half a body", port, with_length("/v3/kv/put", b" " * (7 * MIB), 8 * MIB), b" ", trickles=True),
    ]


def open_stream(path, flags=4):
    """Of a call whose request may go on."""
    headers = b"".join(hostile_kinds.literal(*field) for field in [
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()), (b":authority", b"x"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers")])
    return hostile_kinds.PREFACE + frame(4, 0, 0, b"") + frame(1, flags, 1, headers)


frame = hostile_kinds.frame
PING = frame(6, 0, 0, b"12345678")
# One header that HPACK's table keeps ("x", and 3,900 bytes), and its repetition by a byte.
LARGE_HEADER = b"\x40\x01x\x7f\xbd\x1d" + b"b" * 3900
AGAIN = b"\xbe"
ACCEPT_ENCODING = b"\x90"  # one byte of HPACK is this header


def resets(path, count):
    """So many calls, each taken back at once."""
    call = open_stream(path)[len(hostile_kinds.PREFACE + frame(4, 0, 0, b"")) + 9:]
    return b"".join(frame(1, 4, n, call) + frame(3, 0, n, struct.pack(">I", 8)) for n in range(1, 2 * count, 2))


def http2(port, path):
    begun = hostile_kinds.PREFACE + frame(4, 0, 0, b"")
    call = open_stream(path)
    return [
        Kind(f"headers without an end {path}", port, open_stream(path, flags=0), frame(9, 0, 1, b"\0\1x\1y")),
        Kind(f"headers repeated {path}", port, open_stream(path, flags=0) + frame(9, 0, 1, LARGE_HEADER),
             frame(9, 0, 1, AGAIN * 10_000)),
        Kind(f"pings unread {path}", port, begun, PING),
        Kind(f"pings within a call {path}", port, call, PING),
        Kind(f"settings unread {path}", port, begun, frame(4, 0, 0, b"")),
        Kind(f"priorities {path}", port, call, frame(2, 0, 1, struct.pack(">IB", 0, 15))),
        Kind(f"window updates {path}", port, call, frame(8, 0, 0, struct.pack(">I", 1))),
        Kind(f"empty data {path}", port, call, frame(0, 0, 1, b"")),
        Kind(f"a message without an end {path}", port, call + frame(0, 0, 1, b"\0\x7f\xff\xff\xff"),
             frame(0, 0, 1, b"x" * 16_000), is_cut_off=False),
        Kind(f"unknown frames {path}", port, begun, frame(0x77, 0, 0, b"x" * 16_000), is_cut_off=False),
        Kind(f"small unknown frames {path}", port, begun, frame(0x77, 0, 0, b"x")),
        Kind(f"rapid resets {path}", port, begun + resets(path, 20_000), PING),
        Kind(f"slow headers {path}", port, open_stream(path, flags=0) + frame(9, 0, 1, b"x" * 16_000)[:9], ACCEPT_ENCODING,
             trickles=True, is_cut_off=False),
    ]


class Stranger:
    """One connection at a time; what it was sent is never read."""

    def __init__(self, kind):
        self.kind = kind
        self.socket = None
        self.left = b""
        self.sent = 0
        self.come_backs = 0

    def connect(self):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", self.kind.port))
        self.left = memoryview(self.kind.first)

    def send(self):
        """False if it was cut off."""
        try:
            if not self.left:
                self.left = memoryview(self.kind.more[:1] if self.kind.trickles else self.kind.more)
            sent = self.socket.send(self.left[:PIECE])
            self.left = self.left[sent:]
            self.sent += sent
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    @property
    def waits(self):
        return self.kind.trickles and not self.left


class Strangers(threading.Thread):
    """All of them on one thread."""

    def __init__(self, kinds, seconds):
        super().__init__()
        self.kinds = kinds
        self.strangers = [Stranger(kind) for kind in kinds * OF_EACH_KIND]
        self.end = time.monotonic() + seconds

    @property
    def sent(self):
        return sum(stranger.sent for stranger in self.strangers)

    @property
    def come_backs(self):
        return sum(stranger.come_backs for stranger in self.strangers)

    def of(self, kind):
        """What all of a kind have sent, and how often they came back."""
        strangers = [stranger for stranger in self.strangers if stranger.kind is kind]
        return sum(stranger.sent for stranger in strangers), sum(stranger.come_backs for stranger in strangers)

    def check(self, test):
        """They did what they are for: each kind has sent, and each that has no end was cut off and came back."""
        for kind in self.kinds:
            sent, come_backs = self.of(kind)
            test.assertGreaterEqual(sent, kind.at_least(), kind.name)
            if kind.is_cut_off:
                test.assertGreater(come_backs, 0, kind.name)

    def run(self):
        random.shuffle(self.strangers)
        with selectors.DefaultSelector() as selector:
            for stranger in self.strangers:
                stranger.connect()
                selector.register(stranger.socket, selectors.EVENT_WRITE, stranger)
            idle, turn = set(), 0.0
            while time.monotonic() < self.end:
                for key, _ in selector.select(TRICKLE_SECONDS):
                    stranger = key.data
                    if not stranger.send():
                        selector.unregister(stranger.socket)
                        stranger.socket.close()
                        stranger.come_backs += 1
                        stranger.connect()
                        selector.register(stranger.socket, selectors.EVENT_WRITE, stranger)
                    elif stranger.waits:
                        selector.unregister(stranger.socket)
                        idle.add(stranger)
                if time.monotonic() > turn:
                    turn = time.monotonic() + TRICKLE_SECONDS
                    for stranger in idle:
                        selector.register(stranger.socket, selectors.EVENT_WRITE, stranger)
                    idle.clear()
        for stranger in self.strangers:
            stranger.socket.close()
