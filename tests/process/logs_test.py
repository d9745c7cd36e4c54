#!/usr/bin/env python3
"""Where log lines go: several outputs, a file that is rotated, the journal.

The journal is a socket of the test's own, at the usual place within a namespace of mounts.
"""

import glob
import gzip
import json
import os
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import ports
import server

INSIDE = "KVORUM_TEST_LOGS"
JOURNAL = "/run/systemd/journal/socket"


class LogsTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)

    def path(self, name):
        return os.path.join(self.member.folder, name)

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            return file.read()

    def wait(self, condition):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, self.member.log().decode(errors="replace"))
            time.sleep(0.01)

    def test_every_output_has_every_line(self):
        self.member.start(f"--log-outputs=stderr,{self.path('logs/a')},{self.path('b')}")
        self.assertEqual(self.member.stop()[0], 0)
        self.assertEqual(self.member.log(), self.read(self.path("logs/a")))
        self.assertEqual(self.member.log(), self.read(self.path("b")))
        for line in self.member.log().splitlines():
            json.loads(line)

    def test_a_full_file_is_set_aside_and_packed(self):
        log = self.path("server.log")
        before = b"x" * (2**20 - 300) + b"\n"
        with open(log, "wb") as file:
            file.write(before)
        self.member.start(f"--log-outputs=stderr,{log}", "--enable-log-rotation",
                          '--log-rotation-config-json={"maxsize": 1, "maxbackups": 3, "compress": true}')
        self.wait(lambda: glob.glob(self.path("server-*.log.gz")) and not glob.glob(self.path("server-*.log")))
        self.assertEqual(self.member.stop()[0], 0)
        packed, = glob.glob(self.path("server-*.log.gz"))
        with gzip.open(packed) as file:
            old = file.read()
        self.assertTrue(old.startswith(before))
        self.assertEqual(old[len(before):] + self.read(log), self.member.log())

    def test_slow_calls_are_shown_without_their_values(self):
        self.member.start("--warning-apply-duration=1ns", "--warning-unary-request-duration=1ns")
        with self.member.channel() as channel:
            stub = server.kv(channel)
            server.put(stub, b"foo", b"a secret")
            server.get(stub, b"foo", range_end=b"fop", limit=3)
            stub.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"foo"), timeout=30)
            # The same through the gateway.
            range_of_none = urllib.request.Request(f"http://{self.member.endpoint}/v3/kv/range", b'{"key":"Zm9v"}')
            urllib.request.urlopen(range_of_none, timeout=30).close()
            # Larger than most, and shown nevertheless.
            server.put(stub, b"large", b"a secret" * 1500)
            put = rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"k", value=b"a secret"))
            stub.Txn(rpc_pb2.TxnRequest(success=[put]), timeout=30)
            with self.assertRaises(grpc.RpcError):
                stub.Put(rpc_pb2.PutRequest(key=b"none", value=b"a secret", lease=7), timeout=30)
            gets = [rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=key)) for key in (b"large", b"none")]
            stub.Txn(rpc_pb2.TxnRequest(success=gets), timeout=30)
            with self.assertRaises(grpc.RpcError):
                rpc_pb2_grpc.LeaseStub(channel).LeaseRevoke(rpc_pb2.LeaseRevokeRequest(ID=7), timeout=30)

        def lines(message):
            found = []
            for line in self.member.log().splitlines():
                fields = json.loads(line)
                if fields["msg"] == message:
                    found.append(fields)
            return found
        self.wait(lambda: len(lines("request stats")) == 9)
        shown = ['key:"foo" value_size:8 ', 'key:"foo"  range_end:"fop"  limit:3',
                 'key:"foo"', 'key:"foo"', 'key:"large" value_size:12000 ',
                 'compare:<> success:<request_put:<key:"k" value_size:8 >> failure:<>',
                 'key:"none" value_size:8 lease:7 ',
                 'compare:<> success:<request_range:{key:"large"} request_range:{key:"none"}> failure:<>', ""]
        stats = lines("request stats")
        self.assertEqual([line["request content"] for line in stats], shown)
        self.assertEqual([line["request count"] for line in stats], [1, 0, 0, 0, 1, 1, 1, 2, -1])
        self.assertEqual([line["response count"] for line in stats], [0, 1, 1, 0, 0, 0, 0, 0, -1])
        self.assertEqual(stats[1]["request size"], 12, "of the message, without its frame")
        self.assertEqual(stats[0]["response type"], "/etcdserverpb.KV/Put")
        self.assertEqual(list(stats[0])[4:13],
                         ["start time", "time spent", "remote", "response type", "request count", "request size",
                          "response count", "response size", "request content"])
        slow = lines("apply request took too long")
        for prefix, request in (("", f"put:<{shown[0]}>"), ("read-only range ", shown[1]), ("", f"txn:<{shown[5]}>")):
            self.assertTrue(any(line["prefix"] == prefix and line["request"].endswith(request) for line in slow), slow)
        self.assertTrue(any(line["response"].startswith("range_response_count:1 size:") for line in slow), slow)
        txn, = (line for line in slow if line["prefix"] == "read-only txn ")
        self.assertRegex(txn["response"],
                         r"^responses:<range_response_count:1 range_response_count:0> size:120\d\d$")
        failed = lines("failed to apply request")
        for line, request in zip(failed, (f"put:<{shown[6]}>", "lease_revoke:<id:0000000000000007>"), strict=True):
            self.assertTrue(line["request"].endswith(request), line)
            self.assertEqual(line["error"], "lease not found")
        self.assertEqual(self.member.stop()[0], 0)
        self.assertNotIn(b"a secret", self.member.log())

    def test_rotation_of_a_stream_is_refused(self):
        code, said = self.member.refuse("--enable-log-rotation")
        self.assertEqual(code, 1)
        self.assertIn("--log-outputs requires a single file path when --log-rotate-config-json is defined", said)

    def make_journal_folder(self):
        """Leaves behind what was there, and nothing else."""
        for folder in ("/run/systemd", os.path.dirname(JOURNAL)):
            if not os.path.isdir(folder):
                os.mkdir(folder)
                self.addCleanup(os.rmdir, folder)

    def test_the_journal_takes_the_lines(self):
        self.make_journal_folder()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
            journal.bind(JOURNAL)
            self.addCleanup(os.remove, JOURNAL)
            journal.settimeout(60)
            self.member.port, self.member.peer_port = ports.free_ports(2)
            process = subprocess.Popen(self.member.command("--log-outputs=systemd/journal"), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env=self.member.environment, cwd=self.member.folder)
            try:
                entry = b""
                while server.READY not in entry:
                    entry = journal.recv(65536)
                fields = dict(field.split(b"=", 1) for field in entry.splitlines())
                self.assertEqual(fields[b"PRIORITY"], b"6")
                self.assertEqual(fields[b"SYSLOG_IDENTIFIER"], b"kvorum")
                self.assertEqual(fields[b"PACKAGE"], b"process")
                self.assertEqual(json.loads(fields[b"MESSAGE"])["level"], "info")
            finally:
                process.terminate()
                said, _ = process.communicate(timeout=30)
        self.assertEqual(said.count(server.READY), 0, said)

    def test_without_a_journal_it_ends(self):
        code, said = self.member.refuse("--log-outputs=systemd/journal")
        self.assertEqual(code, 1)
        self.assertIn("can't find journal", said)


def run_isolated():
    if os.environ.get(INSIDE):
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
        unittest.main()
        return
    for flags in (["--mount"], ["--map-root-user", "--mount"]):
        probe = subprocess.run(["unshare", *flags, "mount", "-t", "tmpfs", "none", "/run"], capture_output=True,
                               check=False)
        if probe.returncode == 0:
            os.execvpe("unshare", ["unshare", *flags, sys.executable, "-B", *sys.argv], {**os.environ, INSIDE: "1"})
    print("SKIPPED: namespaces are not permitted here: " + probe.stderr.decode().strip())


if __name__ == "__main__":
    run_isolated()
