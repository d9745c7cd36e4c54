"""The saved key index: the next start reads it and the records written since instead of every record, and nothing that
happens in between, a kill, damage, another database, lets a start use one that is not its own.
"""

import json
import os
import shutil
import subprocess
import time
import unittest

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import points
import server

UTL = os.path.join(os.environ["KVORUM_BIN_DIR"], "kvorumutl")
READ = "read the saved key index"
NOT_USED = "the saved key index is not used; every record is read instead"
SAVED = "saved the key index"
SERVING = "saved the key index while serving"
BUILT = "built the key index from every record"
KEYS = 300


def snap(member):
    return os.path.join(member.data_dir, "member", "snap")


def saved(member):
    return os.path.join(snap(member), "db.index")


def lines(member, text):
    """The log lines of the member's last start with this message."""
    entries = [json.loads(line) for line in member.log().decode(errors="replace").splitlines() if line.startswith("{")]
    return [entry for entry in entries if entry["msg"] == text]


def state(member):
    """All that clients see: rows at each revision that is left, hashes, and the keys of leases."""
    with member.channel() as channel:
        kv = server.kv(channel)
        maintenance = server.maintenance(channel)
        last = server.get(kv, b"x").header.revision
        found = [("revision", last)]
        first = maintenance.HashKV(rpc_pb2.HashKVRequest(), timeout=10).compact_revision
        for revision in range(max(first, 1), last + 1, 7):
            answer = server.get(kv, b"\0", range_end=b"\0", revision=revision)
            found.append([(row.key, row.value, row.create_revision, row.mod_revision, row.version, row.lease)
                          for row in answer.kvs])
            if revision > first:  # that of a compaction's own revision is kept from before it
                found.append(maintenance.HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=10).hash)
        leases = rpc_pb2_grpc.LeaseStub(channel)
        for lease in leases.LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=10).leases:
            keys = leases.LeaseTimeToLive(rpc_pb2.LeaseTimeToLiveRequest(ID=lease.ID, keys=True), timeout=10).keys
            found.append((lease.ID, sorted(keys)))
    return found


def put(member, key, value=b"v"):
    with member.channel() as channel:
        return server.put(server.kv(channel), key, value)


class SavedIndexTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server("--backend-batch-interval", "10ms").start()
        self.addCleanup(self.member.close)
        with self.member.channel() as channel:
            kv = server.kv(channel)
            lease = rpc_pb2_grpc.LeaseStub(channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=3600), timeout=10).ID
            for number in range(KEYS):
                server.put(kv, b"key %d" % (number % 200), b"value %d" % number, lease=lease if number % 9 == 0 else 0)
            for number in range(0, 200, 5):
                kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"key %d" % number), timeout=10)
            kv.Compact(rpc_pb2.CompactionRequest(revision=220, physical=True), timeout=60)
            for number in range(0, 200, 10):
                server.put(kv, b"key %d" % number, b"again")

    def stop(self):
        self.assertEqual(self.member.stop()[0], 0)
        self.assertEqual(len(lines(self.member, SAVED)), 1)
        self.assertTrue(os.path.exists(saved(self.member)))

    def check_start(self, before, *flags, reads, warns=False):
        self.member.start(*flags)
        self.assertEqual(len(lines(self.member, READ)), int(reads))
        self.assertEqual(len(lines(self.member, NOT_USED)), int(warns))
        self.assertEqual(state(self.member), before)

    def test_the_start_after_a_clean_stop_reads_it_and_shows_the_same(self):
        before = state(self.member)
        self.stop()
        self.check_start(before, reads=True)
        put(self.member, b"key 1", b"later")
        with self.member.channel() as channel:
            server.kv(channel).Compact(rpc_pb2.CompactionRequest(revision=300, physical=True), timeout=60)
        before = state(self.member)
        self.stop()
        self.check_start(before, reads=True)
        # What the other way to start makes of the same database.
        self.stop()
        os.remove(saved(self.member))
        self.check_start(before, reads=False)

    def test_the_start_after_a_kill_reads_it_and_what_was_written_since(self):
        self.stop()
        self.member.start()
        put(self.member, b"after", b"the start")
        put(self.member, b"key 1", b"after the start")
        with self.member.channel() as channel:
            server.kv(channel).DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"key 2"), timeout=10)
        before = state(self.member)
        time.sleep(0.1)  # ten batch intervals
        self.member.kill()
        self.check_start(before, reads=True)
        self.assertEqual(lines(self.member, READ)[0]["later-records"], 3)
        # What the other way to start makes of the same database.
        self.member.kill()
        os.remove(saved(self.member))
        self.check_start(before, reads=False)
        self.assertEqual(len(lines(self.member, BUILT)), 1)

    def test_one_of_before_a_compaction_of_later_deletions_is_not_used(self):
        self.stop()
        self.member.start()
        with self.member.channel() as channel:
            kv = server.kv(channel)
            kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"key 1"), timeout=10)
            last = server.put(kv, b"after", b"the start").header.revision
            kv.Compact(rpc_pb2.CompactionRequest(revision=last, physical=True), timeout=60)
        before = state(self.member)
        time.sleep(0.1)
        self.member.kill()
        self.check_start(before, reads=False, warns=True)

    def test_it_is_saved_while_the_member_serves(self):
        with self.member.channel() as channel:
            kv = server.kv(channel)
            for first in range(0, 50_000, 100):
                kv.Txn(rpc_pb2.TxnRequest(success=[rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(
                    key=b"many %d" % number, value=b"v")) for number in range(first, first + 100)]), timeout=10)
        cluster.wait_until(lambda: lines(self.member, SERVING), "the index to be saved", 60)
        put(self.member, b"after", b"it")
        before = state(self.member)
        time.sleep(0.1)
        self.member.kill()
        self.assertEqual(lines(self.member, SAVED), [])
        self.check_start(before, reads=True)
        self.assertLess(lines(self.member, READ)[0]["later-records"], 7_000)

    def test_a_damaged_one_is_not_used(self):
        before = state(self.member)
        self.stop()
        size = os.path.getsize(saved(self.member))
        for at in (3, 50, 80, size // 2, size - 1):
            with open(saved(self.member), "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 0x40]))
            with self.subTest(at=at):
                self.check_start(before, reads=False, warns=True)
            self.stop()

    def test_a_cut_one_is_not_used(self):
        before = state(self.member)
        self.stop()
        os.truncate(saved(self.member), os.path.getsize(saved(self.member)) - 1)
        self.check_start(before, reads=False, warns=True)

    def test_another_database_does_not_meet_it(self):
        database = os.path.join(snap(self.member), "db")
        before = state(self.member)
        self.stop()
        copy = os.path.join(self.member.folder, "db")
        shutil.copy(database, copy)
        self.member.start()
        self.stop()  # its election was written, and another index saved
        newer = os.path.join(self.member.folder, "db.index")
        shutil.copy(saved(self.member), newer)
        # The database alone goes back: the log has what it lacks.
        shutil.copy(copy, database)
        self.check_start(before, reads=False, warns=True)

    def test_a_kill_while_it_is_written_costs_only_the_time(self):
        """At each point of the writing; from its rename on the file is whole."""
        before = state(self.member)
        self.stop()
        at = points.Points(self.member)
        os.remove(saved(self.member))
        self.member.start()
        for point in ("saveIndexBeforeHeader", "saveIndexBeforeSync", "saveIndexBeforeRename",
                      "saveIndexBeforeDirectorySync", "saveIndexAfterDirectorySync"):
            at.stop_at(point)
            self.member.process.terminate()
            at.wait_at(point)
            self.member.kill()
            self.assertEqual(lines(self.member, SAVED), [], point)
            self.member.start()
            self.assertEqual(lines(self.member, NOT_USED), [], point)
            self.assertEqual(lines(self.member, READ) != [], "DirectorySync" in point, point)
            self.assertEqual(state(self.member), before, point)

    def test_checks_at_the_start_read_the_records(self):
        before = state(self.member)
        self.stop()
        self.check_start(before, "--feature-gates", "InitialCorruptCheck=true", reads=False)

    def test_the_tools_know_it_and_remove_it_with_the_database_that_it_is_of(self):
        def utl(*arguments):
            done = subprocess.run([UTL, *arguments, "--data-dir", self.member.data_dir], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        before = state(self.member)
        self.stop()
        self.assertEqual(json.loads(utl("verify", "-w", "json"))["notes"], [])
        self.assertTrue(os.path.exists(saved(self.member)))
        with open(saved(self.member), "ab") as file:
            file.write(b"x")
        notes = json.loads(utl("verify", "-w", "json"))["notes"]
        self.assertEqual(len(notes), 1)
        self.assertIn("cannot be used", notes[0])
        utl("defrag")
        self.assertFalse(os.path.exists(saved(self.member)))
        self.check_start(before, reads=False)
        self.stop()
        utl("release")
        self.assertFalse(os.path.exists(saved(self.member)))
        utl("adopt")
        self.check_start(before, reads=False)

    def test_a_defragmentation_while_it_serves(self):
        before = state(self.member)
        self.stop()
        self.member.start()
        with self.member.channel() as channel:
            server.maintenance(channel).Defragment(rpc_pb2.DefragmentRequest(), timeout=60)
        self.member.kill()
        self.check_start(before, reads=True)


class ClusterTest(unittest.TestCase):
    def test_a_leaders_snapshot_replaces_the_database_that_it_is_of(self):
        members = cluster.Cluster(3, flags=(*cluster.QUICK, "--snapshot-count", "20", "--snapshot-catchup-entries", "5"))
        self.addCleanup(members.close)
        members.start()
        victim = members.followers()[0]
        put(members.leader(), b"before")
        self.assertEqual(victim.stop()[0], 0)
        self.assertTrue(os.path.exists(saved(victim)))
        leader = members.leader()
        before = leader.status().raftIndex
        for number in range(200):
            put(leader, b"key %d" % (number % 50), b"value %d" % number)
        members.wait_log_cut(leader, before)
        victim.start()
        self.assertEqual(len(lines(victim, READ)), 1)
        cluster.wait_until(lambda: lines(victim, "applied snapshot"), "the snapshot")
        members.check_equal()
        self.assertFalse(os.path.exists(saved(victim)))
        self.assertEqual(victim.stop()[0], 0)
        victim.start()
        self.assertEqual(len(lines(victim, READ)), 1)
        members.check_equal()


if __name__ == "__main__":
    unittest.main()
