"""A small WebSocket client (RFC 6455) for tests: sends frames as it is told, right ones and wrong ones, and shows what comes."""

import base64
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(payload, opcode=TEXT, final=True, masked=True, reserved=0):
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    bit = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", len(payload))
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", len(payload))
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


class WebSocket:
    """`context`: for TLS."""

    def __init__(self, port, path, headers=(), context=None, request=None, timeout=30):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        key = base64.b64encode(b"0123456789abcdef").decode()
        lines = request or [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: keep-alive, Upgrade",
                            "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", *headers]
        self.socket.sendall("".join(line + "\r\n" for line in [*lines, ""]).encode())
        self.unread = b""
        self.head = b""
        while b"\r\n\r\n" not in self.unread:
            more = self.socket.recv(65536)
            if not more:
                break
            self.unread += more
        self.head, _, self.unread = self.unread.partition(b"\r\n\r\n")

    @property
    def status(self):
        return int(self.head.split()[1])

    def send(self, payload, **how):
        self.socket.sendall(frame(payload, **how))

    def _take(self, size):
        """None at the end of the connection."""
        while len(self.unread) < size:
            more = self.socket.recv(65536)
            if not more:
                return None
            self.unread += more
        taken, self.unread = self.unread[:size], self.unread[size:]
        return taken

    def receive(self):
        """(opcode, payload); None once the connection has ended."""
        try:
            head = self._take(2)
            if head is None:
                return None
            size = head[1] & 0x7f
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            return head[0] & 0xf, self._take(size)
        except ConnectionResetError:
            return None

    def receive_all(self):
        """What comes until the connection ends."""
        return list(iter(self.receive, None))

    def close(self):
        self.socket.close()
