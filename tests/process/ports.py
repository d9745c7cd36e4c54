"""Ports on loopback for the servers of tests and benchmarks.

A server is told its ports before it starts, and cluster members know each other's. A port that the kernel picks as free
and that is given back may be gone by then: picked once more for another test, or as the near end of anybody's outgoing
connection. So they come from below what the kernel gives out (ip_local_port_range, ip(7)), in blocks. A block is kept
until the process ends, by the name of an abstract socket: no two processes of this machine have the same
(tests/differential/ports.cc takes blocks by the same names).
"""

import pathlib
import random
import socket

BLOCK = 64
FIRST = 157 * BLOCK
END = 32768

_keepers = []
_unused = []


def _end():
    """Above the last one; at least one block, should the kernel take its own from far below the usual."""
    range_of_kernel = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    return max(FIRST + BLOCK, min(END, int(range_of_kernel.split()[0])))


def keep_block(port):
    """Keeps the block of this port from other processes; False if one of them, or this one, has it."""
    keeper = socket.socket(socket.AF_UNIX)
    try:
        keeper.bind(f"\0kvorum-test-ports-{port - port % BLOCK}")
    except OSError:
        keeper.close()
        return False
    _keepers.append(keeper)
    return True


def is_free(port):
    """That nobody listens at it, on any address."""
    with socket.socket() as probe:
        # Remains of closed connections do not keep a server from listening.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def _take_block():
    firsts = list(range(FIRST, _end() - BLOCK + 1, BLOCK))
    random.shuffle(firsts)
    for first in firsts:
        if keep_block(first):
            _unused.extend(range(first, first + BLOCK))
            return
    raise RuntimeError("every block of ports is in use by other tests")


def free_port():
    while True:
        if not _unused:
            _take_block()
        port = _unused.pop()
        if is_free(port):
            return port


def free_ports(count):
    return [free_port() for _ in range(count)]
