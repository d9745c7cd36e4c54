#!/usr/bin/env python3
"""Clusters that find their first members by DNS: a name server on loopback answers for example.test.

It runs in namespaces of its own, where port 53 and /etc/resolv.conf are its own.
"""

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import server

INSIDE = "KVORUM_TEST_NAMES"
SRV, A = 33, 1
CTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumctl")


def wire_name(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


class NameServer:
    """Answers queries for the records that it is told, over UDP; anything else is NXDOMAIN."""

    def __init__(self):
        self.records = {}  # (name, type) -> list of rdata
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.asked = set()
        threading.Thread(target=self.run, daemon=True).start()

    def address(self, name, address):
        self.records.setdefault((name, A), []).append(socket.inet_aton(address))

    def service(self, name, target, port, priority=0):
        self.records.setdefault((name, SRV), []).append(struct.pack(">HHH", priority, 0, port) + wire_name(target))

    def run(self):
        while True:
            query, sender = self.socket.recvfrom(4096)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode())
                at += 1 + query[at]
            kind, _ = struct.unpack(">HH", query[at + 1:at + 5])
            name = ".".join(labels).lower()
            self.asked.add((name, kind))
            found = self.records.get((name, kind), [])
            known = any(other == name for other, _ in self.records)
            flags = 0x8180 if known else 0x8183
            answer = query[:2] + struct.pack(">HHHHH", flags, 1, len(found), 0, 0) + query[12:at + 5]
            for data in found:
                answer += struct.pack(">HHHIH", 0xC00C, kind, 1, 60, len(data)) + data
            self.socket.sendto(answer, sender)

    def close(self):
        self.socket.close()


class DiscoveryTest(unittest.TestCase):
    names = None

    @classmethod
    def setUpClass(cls):
        cls.names = NameServer()
        cls.addClassCleanup(cls.names.close)

    def setUp(self):
        self.names.records.clear()
        self.folder = tempfile.mkdtemp(prefix="kvorum-discovery-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.processes = []
        self.addCleanup(self.end)

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    def start(self, number, *flags):
        log = os.path.join(self.folder, f"log{number}")
        with open(log, "ab") as file:
            process = subprocess.Popen(
                [server.BINARY, f"--name=m{number}", f"--data-dir={self.folder}/data{number}",
                 f"--initial-advertise-peer-urls=http://m{number}.example.test:2380",
                 f"--listen-peer-urls=http://127.0.0.{10 + number}:2380",
                 f"--listen-client-urls=http://127.0.0.{10 + number}:2379",
                 f"--advertise-client-urls=http://m{number}.example.test:2379", *flags],
                stdout=file, stderr=file, stdin=subprocess.DEVNULL, cwd=self.folder,
                env={"PATH": os.environ["PATH"]})
        self.processes.append(process)
        return process, log

    @staticmethod
    def read(log):
        with open(log, "rb") as file:
            return file.read().decode(errors="replace")

    def wait_ready(self, process, log):
        end = time.monotonic() + 60
        while server.READY.decode() not in self.read(log):
            self.assertIsNone(process.poll(), self.read(log))
            self.assertLess(time.monotonic(), end, self.read(log))
            time.sleep(0.02)

    def publish(self, count, service="_etcd-server._tcp.example.test"):
        for number in range(1, count + 1):
            self.names.address(f"m{number}.example.test", f"127.0.0.{10 + number}")
            self.names.service(service, f"m{number}.example.test", 2380)
            self.names.service("_etcd-client._tcp.example.test", f"m{number}.example.test", 2379)

    def test_three_members_and_a_client_find_each_other(self):
        self.publish(3)
        members = [self.start(number, "--discovery-srv=example.test") for number in (1, 2, 3)]
        for process, log in members:
            self.wait_ready(process, log)
        done = subprocess.run([CTL, "--discovery-srv=example.test", "member", "list"], capture_output=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for number in (1, 2, 3):
            self.assertIn(f"m{number}, http://m{number}.example.test:2380", done.stdout.decode())
        # Later starts go by the data: names may be gone.
        self.names.records.clear()
        self.names.address("m1.example.test", "127.0.0.11")
        process, log = members[0]
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        os.truncate(log, 0)
        self.wait_ready(*self.start(1, "--discovery-srv=example.test"))

    def test_the_service_may_have_a_suffix(self):
        self.publish(1, "_etcd-server-blue._tcp.example.test")
        self.wait_ready(*self.start(1, "--discovery-srv=example.test", "--discovery-srv-name=blue"))
        self.assertIn(("_etcd-server-ssl-blue._tcp.example.test", SRV), self.names.asked)

    def test_a_member_that_has_no_record_ends(self):
        self.publish(2)
        self.names.address("m3.example.test", "127.0.0.13")
        process, log = self.start(3, "--discovery-srv=example.test")
        self.assertEqual(process.wait(60), 1)
        self.assertIn('cannot find local etcd member \\"m3\\" in SRV records', self.read(log))

    def test_a_domain_without_records_is_named(self):
        self.names.address("m1.example.test", "127.0.0.11")
        process, log = self.start(1, "--discovery-srv=nothing.test")
        self.assertEqual(process.wait(60), 1)
        self.assertIn("_etcd-server._tcp.nothing.test", self.read(log))


def run_isolated():
    if os.environ.get(INSIDE):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        with tempfile.NamedTemporaryFile("w", suffix=".resolv") as file:
            file.write("nameserver 127.0.0.1\noptions timeout:5 attempts:2\n")
            file.flush()
            os.chmod(file.name, 0o644)
            subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
            unittest.main()
        return
    for flags in (["--net", "--mount"], ["--map-root-user", "--net", "--mount"]):
        probe = subprocess.run(["unshare", *flags, "ip", "link", "set", "lo", "up"], capture_output=True, check=False)
        if probe.returncode == 0:
            os.execvpe("unshare", ["unshare", *flags, sys.executable, "-B", *sys.argv], {**os.environ, INSIDE: "1"})
    print("SKIPPED: namespaces are not permitted here: " + probe.stderr.decode().strip())


if __name__ == "__main__":
    run_isolated()
