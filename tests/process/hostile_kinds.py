"""Clients that misbehave, as bytes: what a connection sends at once, and what a byte at a time (bench/hostile.py,
hostile_clients_test.py). None of them ever reads."""

import base64
import json
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TRICKLES, SAYS_ONCE, HALF_CLOSES = "trickles", "says-once", "half-closes"


class Kind:
    """`then`: `more` follows a byte at a time, over and over; or once, whole; or the client closes its half."""

    def __init__(self, name, first=b"", then=TRICKLES, more=b""):
        self.name = name
        self.first = first
        self.then = then
        self.more = more

    def line(self):
        """For kvorum-hostile."""
        return f"{self.then} {self.first.hex() or '-'} {self.more.hex() or '-'}\n"


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header without compression (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def grpc_call(path, message, end=False):
    """A call whose windows are as large as they can be, and whose request may stay open."""
    headers = b"".join(literal(*field) for field in [
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x"),
        (b"content-type", b"application/grpc"), (b"te", b"trailers")])
    return (PREFACE + frame(4, 0, 0, struct.pack(">HI", 4, 0x7fffffff)) + frame(8, 0, 0, struct.pack(">I", 0x7fff0000))
            + frame(1, 4, 1, headers)
            + frame(0, int(end), 1, b"\0" + struct.pack(">I", len(message)) + message))


def http_call(path, message, more=""):
    body = json.dumps(message).encode()
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


EVERYTHING = {"key": "AA==", "range_end": "AA=="}
ALL_BYTES = b"\x0a\x01\0\x12\x01\0"  # the same as a message: key and range_end
UPGRADE = ("GET /v3/watch HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(b'0123456789abcdef').decode()}\r\n\r\n")


def masked(text):
    return bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text


WATCH = b"\x0a\x06" + ALL_BYTES
KINDS = [
    Kind("slow head", b"POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nX-Slow: ", TRICKLES, b"a"),
    Kind("slow body", b"POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", TRICKLES, b" "),
    Kind("slow frames", PREFACE[:3], TRICKLES, PREFACE[3:] + frame(4, 0, 0, b"") + frame(1, 0, 1, b"\0" * 10_000)),
    Kind("silent"),
    Kind("half-closed HTTP", http_call("/v3/watch", {"create_request": EVERYTHING}), HALF_CLOSES),
    Kind("half-closed gRPC", grpc_call(b"/etcdserverpb.Watch/Watch", WATCH), HALF_CLOSES),
    Kind("unread ranges", http_call("/v3/kv/range", {**EVERYTHING, "limit": 1000}) * 50),
    Kind("unread gRPC range", grpc_call(b"/etcdserverpb.KV/Range", ALL_BYTES, end=True)),
    Kind("unread watch", http_call("/v3/watch", {"create_request": EVERYTHING})),
    Kind("unread gRPC watch", grpc_call(b"/etcdserverpb.Watch/Watch", WATCH)),
    Kind("unread WebSocket", UPGRADE.encode(), SAYS_ONCE, masked(json.dumps({"create_request": EVERYTHING}).encode())),
]
