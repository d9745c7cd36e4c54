"""A small resolver for tests, by hand: one question over UDP or TCP, and the answer's records."""

import ipaddress
import random
import socket
import struct

TYPES = {"A": 1, "PTR": 12, "AAAA": 28, "SRV": 33}


def _wire_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _name(packet, at):
    """The name and the place behind it; pointers lead backwards."""
    labels, end = [], None
    while packet[at]:
        if packet[at] >= 0xc0:
            end = end or at + 2
            to = struct.unpack_from(">H", packet, at)[0] & 0x3fff
            assert to < at
            at = to
        else:
            labels.append(packet[at + 1:at + 1 + packet[at]].decode())
            at += 1 + packet[at]
    return ".".join(labels), end or at + 1


def _record(packet, at):
    name, at = _name(packet, at)
    kind, _, _, size = struct.unpack_from(">HHIH", packet, at)
    at += 10
    data = packet[at:at + size]
    if kind in (TYPES["A"], TYPES["AAAA"]):
        value = str(ipaddress.ip_address(data))
    elif kind == TYPES["SRV"]:
        value = (struct.unpack_from(">H", data, 4)[0], _name(packet, at + 6)[0])
    elif kind == TYPES["PTR"]:
        value = _name(packet, at)[0]
    else:
        value = data
    return (name, kind, value), at + size


def send_udp(address, packet):
    """Asks again where no answer comes, as resolvers do: a full socket loses packets."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(1)
        for _ in range(60):
            udp.sendto(packet, address)
            try:
                return udp.recv(65535)
            except TimeoutError:
                pass
    raise AssertionError(f"no answer from {address}")


def send_tcp(address, packet):
    with socket.create_connection(address, timeout=30) as tcp:
        tcp.sendall(struct.pack(">H", len(packet)) + packet)
        with tcp.makefile("rb") as answer:
            size, = struct.unpack(">H", answer.read(2))
            return answer.read(size)


def ask(address, name, kind, send=send_udp):
    """(response code, is truncated, answers' values, additional records)."""
    number = random.getrandbits(16)
    packet = struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + _wire_name(name) + struct.pack(">2H", TYPES[kind], 1)
    reply = send(address, packet)
    got, flags, _, answers, authorities, additional = struct.unpack_from(">6H", reply)
    assert got == number and flags & 0x8000
    asked, at = _name(reply, 12)
    assert asked == name
    at += 4
    sections = []
    for count in (answers, authorities, additional):
        records = []
        for _ in range(count):
            record, at = _record(reply, at)
            records.append(record)
        sections.append(records)
    assert at == len(reply)
    assert all(record[:2] == (name, TYPES[kind]) for record in sections[0])
    return flags & 0xf, bool(flags & 0x0200), [record[2] for record in sections[0]], sections[2]
