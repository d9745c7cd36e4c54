"""Snapshots that clients save: etcd's own tool checks the file, restores it, and etcd starts from it."""

import hashlib
import json
import os
import subprocess
import tempfile
import unittest

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import ctl
import server

ETCDCTL = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcdctl")
EVERYTHING = {"key": b"\0", "range_end": b"\0"}


def etcdctl(*arguments):
    done = subprocess.run([ETCDCTL, *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def rows(channel):
    """Every key with its value, revisions and lease."""
    answer = server.kv(channel).Range(rpc_pb2.RangeRequest(**EVERYTHING), timeout=30)
    return [(row.key, row.value, row.create_revision, row.mod_revision, row.version, row.lease) for row in answer.kvs]


class SnapshotTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server().start()
        self.addCleanup(self.member.close)
        self.channel = self.member.channel()
        self.addCleanup(self.channel.close)
        self.folder = tempfile.mkdtemp(prefix="snapshot-", dir=self.member.folder)
        self.file = os.path.join(self.folder, "saved.db")

    def write_a_history(self):
        """Versions, deletions, a compaction, large values, leases; returns the last revision."""
        kv = server.kv(self.channel)
        lease = rpc_pb2_grpc.LeaseStub(self.channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=3600), timeout=10)
        for i in range(500):
            server.put(kv, b"key %d" % (i % 300), b"v" * (i * 7), lease=lease.ID if i % 50 == 0 else 0)
        for i in range(0, 300, 3):
            kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"key %d" % i), timeout=10)
        server.put(kv, b"large", b"x" * 1_000_000)
        kv.Compact(rpc_pb2.CompactionRequest(revision=400, physical=True), timeout=60)
        return server.put(kv, b"last", b"").header.revision

    def save(self):
        """Over the API as it is; returns the messages."""
        stub = server.maintenance(self.channel)
        messages = list(stub.Snapshot(rpc_pb2.SnapshotRequest(), timeout=60))
        with open(self.file, "wb") as file:
            for message in messages:
                file.write(message.blob)
        return messages

    def test_the_messages_count_down_to_the_hash(self):
        self.write_a_history()
        messages = self.save()
        with open(self.file, "rb") as file:
            content = file.read()
        self.assertEqual(len(content) % 512, 32)
        self.assertEqual(hashlib.sha256(content[:-32]).digest(), content[-32:])
        remaining = len(content) - 32
        for message in messages[:-1]:
            remaining -= len(message.blob)
            self.assertEqual(message.remaining_bytes, remaining)
        self.assertEqual(remaining, 0)
        self.assertEqual({len(message.blob) for message in messages[:-2]}, {32768})

    @unittest.skipUnless(ctl.etcd_is_here(), "the packaged etcd is not installed")
    def test_etcd_restores_and_serves_it(self):
        revision = self.write_a_history()
        etcdctl("--endpoints", self.member.endpoint, "snapshot", "save", self.file)
        status = json.loads(etcdctl("snapshot", "status", self.file, "--write-out", "json"))
        self.assertEqual(status["revision"], revision)
        self.assertEqual(status["totalSize"], os.path.getsize(self.file) - 32)

        restored = os.path.join(self.folder, "restored")
        etcdctl("snapshot", "restore", self.file, "--data-dir", restored)
        with ctl.Etcd("--data-dir", restored) as etcd, server.grpc.insecure_channel(etcd.endpoint) as channel:
            self.assertEqual(rows(channel), rows(self.channel))
            stub = rpc_pb2_grpc.LeaseStub(channel)
            leases = stub.LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=10).leases
            ours = rpc_pb2_grpc.LeaseStub(self.channel).LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=10).leases
            self.assertEqual([lease.ID for lease in leases], [lease.ID for lease in ours])
            # etcd goes on in the file: more revisions, deletions, and its own compaction and defragmentation.
            kv = server.kv(channel)
            for i in range(300):
                server.put(kv, b"key %d" % i, b"w" * (i * 11))
            last = kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"large"), timeout=10).header.revision
            kv.Compact(rpc_pb2.CompactionRequest(revision=last, physical=True), timeout=60)
            server.maintenance(channel).Defragment(rpc_pb2.DefragmentRequest(), timeout=60)
            self.assertEqual(server.get(kv, b"key 7").kvs[0].value, b"w" * 77)

    def check_a_planted_part(self, make, why):
        """Returns once a save was refused, for that reason, and neither wrote nor removed what was planted."""
        kept = os.path.join(self.folder, "kept")
        with open(kept, "wb") as file:
            file.write(b"of another")
        make(kept, self.file + ".part")
        done = ctl.run(self.member.endpoint, "snapshot", "save", self.file)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn(why, done.stderr)
        with open(kept, "rb") as file:
            self.assertEqual(file.read(), b"of another")
        self.assertEqual(sorted(os.listdir(self.folder)), ["kept", "saved.db.part"])
        os.unlink(self.file + ".part")

    def test_our_tool_writes_through_no_file_of_another(self):
        """Another user has put something where the unfinished save goes."""
        def writable(_, part):
            with open(part, "wb"):
                os.chmod(part, 0o666)

        self.check_a_planted_part(os.symlink, "too many levels of symbolic links")
        self.check_a_planted_part(os.link, "it has another name as well")
        self.check_a_planted_part(lambda _, part: os.mkfifo(part), "no such device or address")
        self.check_a_planted_part(writable, "others may write it")

    def test_our_tool_replaces_a_link(self):
        kept = os.path.join(self.folder, "kept")
        with open(kept, "wb") as file:
            file.write(b"of another")
        os.symlink(kept, self.file)
        ctl.succeed(self.member.endpoint, "snapshot", "save", self.file)
        self.assertFalse(os.path.islink(self.file))
        with open(kept, "rb") as file:
            self.assertEqual(file.read(), b"of another")


if __name__ == "__main__":
    unittest.main()
