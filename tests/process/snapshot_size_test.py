"""The size of snapshots that clients save, beside the file in which etcd itself keeps the same content."""

import collections
import json
import os
import subprocess
import tempfile
import unittest

from etcd3.etcdrpc import rpc_pb2

import ctl
import server

ETCDUTL = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcdutl")
# The bytes of a value, and how many make a file in which the pages of the small buckets do not matter.
VALUES = ((100, 40_000), (1_000, 8_000), (4_000, 2_000), (4_096, 2_000), (5_000, 2_000), (9_000, 1_000),
          (70_000, 150), (71_000, 150))


def etcdutl(*arguments):
    done = subprocess.run([ETCDUTL, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def status(path):
    """Reads every page as bbolt's check does; an error of it is an exit code."""
    return json.loads(etcdutl("snapshot", "status", path, "--write-out", "json"))


def defragmented_by_etcd(saved, data_dir):
    """The pages of etcd's own file with what was saved: its tool copies record by record into a new one."""
    etcdutl("snapshot", "restore", saved, "--data-dir", data_dir)
    etcdutl("defrag", "--data-dir", data_dir)
    return status(os.path.join(data_dir, "member", "snap", "db"))["totalSize"]


def fill(kv, count, size_of):
    """Puts, a thousand of them under way at a time: of more than 5,000 some may be refused, on a busy machine."""
    calls = collections.deque()
    for i in range(count):
        calls.append(kv.Put.future(rpc_pb2.PutRequest(key=b"key %08d" % i, value=b"v" * size_of(i)), timeout=60))
        if len(calls) == 1_000:
            calls.popleft().result()
    for call in calls:
        call.result()


@unittest.skipUnless(os.path.exists(ETCDUTL), "SKIPPED: no etcdutl of 3.7 is installed")
class SnapshotSizeTest(unittest.TestCase):
    def check(self, fill_it):
        with tempfile.TemporaryDirectory(prefix="snapshot-size-") as folder:
            saved = os.path.join(folder, "saved.db")
            with server.Server() as member:
                member.start()
                with member.channel() as channel:
                    fill_it(server.kv(channel))
                ctl.succeed(member.endpoint, "snapshot", "save", saved)
            ours = status(saved)["totalSize"]
            self.assertEqual(ours, os.path.getsize(saved) - 32)
            self.assertLessEqual(ours, 1.02 * defragmented_by_etcd(saved, os.path.join(folder, "restored")))

    def test_records_of_one_size(self):
        for size, count in VALUES:
            with self.subTest(size=size):
                self.check(lambda kv, size=size, count=count: fill(kv, count, lambda _: size))

    def test_records_of_many_sizes(self):
        self.check(lambda kv: fill(kv, 3_000, lambda i: i * i * 31 % 12_000))


if __name__ == "__main__":
    unittest.main()
