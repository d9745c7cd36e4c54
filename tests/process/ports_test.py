#!/usr/bin/env python3
"""ports.py: nobody else gets, or takes by dialing, a port that it gave."""

import os
import pathlib
import socket
import subprocess
import sys
import unittest

import ports

# Takes `count` ports, prints them and stays.
TAKER = "import sys, ports; print(*ports.free_ports(int(sys.argv[1])), flush=True); sys.stdin.read()"


class PortsTest(unittest.TestCase):
    def test_the_kernel_gives_none_of_them_to_who_dials(self):
        range_of_kernel = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
        begin, end = (int(word) for word in range_of_kernel.split())
        if begin < ports.FIRST + ports.BLOCK:
            self.skipTest("the kernel's own ports begin too low here")
        for port in ports.free_ports(3 * ports.BLOCK):
            self.assertFalse(begin <= port <= end, port)

    def test_no_two_processes_have_the_same(self):
        count = 2 * ports.BLOCK + 1
        taken = ports.free_ports(count)
        for _ in range(10):
            taker = subprocess.Popen(
                [sys.executable, "-B", "-c", TAKER, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))})
            self.addCleanup(taker.communicate)
            taken += (int(word) for word in taker.stdout.readline().split())
        self.assertEqual(len(taken), 11 * count)
        self.assertEqual(len(set(taken)), len(taken))

    def test_one_that_somebody_listens_at_is_passed_over(self):
        port = ports.free_port()
        for address in ("127.0.0.1", "0.0.0.0"):
            with socket.create_server((address, port)):
                self.assertFalse(ports.is_free(port))
        self.assertTrue(ports.is_free(port))
        following = ports.free_port() - 1  # blocks are given from their ends
        with socket.create_server(("127.0.0.1", following)):
            self.assertNotEqual(ports.free_port(), following)

    def test_a_block_is_kept_once(self):
        port = ports.free_port()
        self.assertFalse(ports.keep_block(port))


if __name__ == "__main__":
    unittest.main()
