"""The space that history takes, kept small by the real process itself: automatic compaction, the quota and
its alarm, defragmentation."""

import json
import os
import random
import subprocess
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2

import cluster
import server


class TurnsTest(unittest.TestCase):
    def test_members_defragment_one_after_the_other(self):
        """The turns are leases of half a minute, and a new leader gives none before that: this takes a minute."""
        flags = (*cluster.QUICK, "--auto-defrag-threshold-percent", "50")
        with cluster.Cluster(3, flags) as three:
            three.start()
            leader = three.leader()
            with leader.channel() as channel:
                stub = server.kv(channel)
                for _ in range(40):
                    revision = server.put(stub, b"big", os.urandom(1 << 20)).header.revision
                stub.Compact(rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=60)

            def runs():
                """(begin, end, who) of those that have ended."""
                found = []
                for member in three.members:
                    times = {}
                    for line in member.log().splitlines():
                        if b" auto defragment" in line:
                            told = json.loads(line)
                            times[told["msg"]] = told["ts"]
                    if "finished auto defragment" in times:
                        found.append((times["starting auto defragment"], times["finished auto defragment"], member))
                return sorted(found, key=lambda run: run[0])

            done = cluster.wait_until(lambda: runs() if len(runs()) >= 2 else None, "two defragmentations", 180)
            for one, next_one in zip(done, done[1:]):
                self.assertLess(one[1], next_one[0], "two at once")
            if three.leader() is leader:
                self.assertNotIn(leader, [run[2] for run in done[:2]], "the leader is last")
            three.check_equal()


class SpaceTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)

    def wait_for(self, told, what, seconds=60):
        """The first true value of what()."""
        end = time.monotonic() + seconds
        while True:
            value = what()
            if value:
                return value
            self.assertLess(time.monotonic(), end, f"{told}: {self.member.log().decode(errors='replace')}")
            time.sleep(0.05)

    def lines(self, message):
        """The log's lines with this message, as objects."""
        found = [json.loads(line) for line in self.member.log().splitlines() if message.encode() in line]
        return [line for line in found if line["msg"] == message]

    def is_compacted(self, stub, revision):
        try:
            server.get(stub, b"k", revision=revision)
            return False
        except grpc.RpcError as error:
            self.assertIn("required revision has been compacted", error.details())
            return True

    def test_history_older_than_the_retention_goes(self):
        self.member.start("--auto-compaction-retention", "2s")
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for i in range(100):
                revision = server.put(stub, b"k", b"%d" % i).header.revision
            self.wait_for("not compacted", lambda: self.is_compacted(stub, revision - 1))
            self.assertEqual(server.get(stub, b"k", revision=revision).kvs[0].value, b"99")
            self.wait_for("compaction not finished", lambda: self.lines("finished scheduled compaction"))
        starting = self.lines("starting auto periodic compaction")[0]
        self.assertEqual((starting["level"], starting["compact-period"]), ("info", "2s"))
        completed = self.lines("completed auto periodic compaction")[0]
        self.assertEqual(completed["revision"], starting["revision"])
        self.assertIn("took", completed)
        self.assertEqual(self.lines("failed auto periodic compaction"), [])

    def test_the_newest_revisions_are_kept(self):
        self.member.start("--auto-compaction-mode", "revision", "--auto-compaction-retention", "10",
                          "--auto-compaction-revision-interval", "500ms")
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for i in range(100):
                revision = server.put(stub, b"k", b"%d" % i).header.revision
            self.wait_for("not compacted", lambda: self.is_compacted(stub, revision - 11))
            self.assertEqual(server.get(stub, b"k", revision=revision - 10).kvs[0].value, b"89")
        last = self.wait_for("no line", lambda: [
            line for line in self.lines("completed auto revision compaction")
            if line["revision"] == revision - 10])[0]
        self.assertEqual(last["revision-compaction-retention"], 10)

    def test_what_is_no_retention_is_refused(self):
        for retention, text in [
                ("abc", 'error parsing CompactionRetention: time: invalid duration \\"abc\\"'),
                ("-1", 'error parsing CompactionRetention: time: missing unit in duration \\"-1\\"'),
                ("-1h", "error parsing CompactionRetention")]:
            with self.subTest(retention=retention):
                code, said = self.member.refuse("--auto-compaction-retention=" + retention)
                self.assertEqual(code, 1, said)
                self.assertIn(text.replace("\\", "") if "\\" not in said else text, said)

    # ---- the quota ----

    def fill(self, stub, key=b"big", size=1 << 20):
        """Overwrites a key until there is no room; the revision of the last put."""
        revision = 0
        for _ in range(2000):
            try:
                revision = server.put(stub, key, os.urandom(size)).header.revision
            except grpc.RpcError as error:
                self.assertEqual(error.details(), "etcdserver: mvcc: database space exceeded")
                return revision
        raise AssertionError("the quota was never reached")

    def alarms(self, channel):
        return server.maintenance(channel).Alarm(rpc_pb2.AlarmRequest(), timeout=10).alarms

    def is_writable(self, stub):
        try:
            server.put(stub, b"again", b"v")
            return True
        except grpc.RpcError as error:
            self.assertEqual(error.details(), "etcdserver: mvcc: database space exceeded")
            return False

    def test_the_alarm_of_the_quota_ends_by_itself_once_history_is_gone(self):
        self.member.start("--quota-backend-bytes", str(32 << 20))
        with self.member.channel() as channel:
            stub, admin = server.kv(channel), server.maintenance(channel)
            revision = self.fill(stub)
            self.assertEqual([alarm.alarm for alarm in self.alarms(channel)], [rpc_pb2.NOSPACE])
            self.assertFalse(self.is_writable(stub))
            file_bytes = admin.Status(rpc_pb2.StatusRequest()).dbSize
            stub.Compact(rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=60)
            self.wait_for("the alarm stands", lambda: not self.alarms(channel))
            self.assertTrue(self.is_writable(stub))
            self.assertGreaterEqual(admin.Status(rpc_pb2.StatusRequest()).dbSize, file_bytes,
                                    "nobody has defragmented: free pages count as room")
        self.assertTrue(self.lines("there is room again; disarming the NOSPACE alarm of this member"))

    def test_live_keys_keep_the_alarm_until_they_are_deleted_and_compacted(self):
        self.member.start("--quota-backend-bytes", str(16 << 20))
        with self.member.channel() as channel:
            stub = server.kv(channel)
            count = 0
            try:
                while True:
                    server.put(stub, b"key%d" % count, os.urandom(1 << 20))
                    count += 1
            except grpc.RpcError as error:
                self.assertEqual(error.details(), "etcdserver: mvcc: database space exceeded")
            revision = server.get(stub, b"x").header.revision
            stub.Compact(rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=60)
            # Longer than the pause after which an alarm without a cause would end.
            time.sleep(7)
            self.assertFalse(self.is_writable(stub))
            gone = stub.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"key", range_end=b"kez"), timeout=10)
            self.assertEqual(gone.deleted, count)
            stub.Compact(rpc_pb2.CompactionRequest(revision=gone.header.revision, physical=True), timeout=60)
            self.wait_for("still refused", lambda: self.is_writable(stub))

    def test_a_restart_ends_an_alarm_whose_cause_is_gone(self):
        self.member.flags += ["--quota-backend-bytes", str(16 << 20)]
        self.member.start()
        with self.member.channel() as channel:
            stub = server.kv(channel)
            revision = self.fill(stub)
            stub.Compact(rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=60)
        self.member.kill()
        self.member.start()
        with self.member.channel() as channel:
            self.wait_for("the alarm stands", lambda: self.is_writable(server.kv(channel)))

    def test_a_start_tells_its_limits(self):
        self.member.start()
        enabled = self.lines("enabled backend quota with default value")[0]
        self.assertEqual((enabled["quota-size-bytes"], enabled["quota-size"]), (2 << 30, "2.1 GB"))
        self.member.kill()
        self.member.start("--quota-backend-bytes", str(16 << 30), "--max-request-bytes", str(20 << 20))
        self.assertEqual(self.lines("enabled backend quota")[0]["quota-size"], "17 GB")
        beyond = self.lines("quota exceeds the maximum value")[0]
        self.assertEqual((beyond["level"], beyond["quota-maximum-size"]), ("warn", "8.6 GB"))
        requests = self.lines("exceeded recommended request limit")[0]
        self.assertEqual((requests["max-request-bytes"], requests["recommended-request-size"]), (20 << 20, "10 MB"))
        self.member.kill()
        self.member.start("--quota-backend-bytes", "-1")
        self.assertEqual(self.lines("disabled backend quota")[0]["quota-size-bytes"], -1)

    # ---- defragmentation ----

    def waste(self, channel, mib=40):
        """Leaves as many MiB of free pages in the file, and a few keys; the size of the file."""
        stub = server.kv(channel)
        for i in range(10):
            server.put(stub, b"kept%d" % i, b"v" * 100_000)
        for i in range(mib):
            revision = server.put(stub, b"big", os.urandom(1 << 20)).header.revision
        stub.Compact(rpc_pb2.CompactionRequest(revision=revision, physical=True), timeout=60)
        return server.maintenance(channel).Status(rpc_pb2.StatusRequest(), timeout=10).dbSize

    def check_kept(self, channel):
        stub = server.kv(channel)
        for i in range(10):
            self.assertEqual(len(server.get(stub, b"kept%d" % i).kvs[0].value), 100_000)
        self.assertEqual(len(server.get(stub, b"big").kvs[0].value), 1 << 20)

    def size(self, channel):
        return server.maintenance(channel).Status(rpc_pb2.StatusRequest(), timeout=10).dbSize

    def test_a_start_defragments_what_is_worth_it(self):
        self.member.start()
        with self.member.channel() as channel:
            before = self.waste(channel)
        self.member.kill()
        self.member.start("--bootstrap-defrag-threshold-megabytes", "1000")
        skipped = self.lines("Skipping defragmentation")[0]
        self.assertEqual(skipped["bootstrap-defrag-threshold-bytes"], 1000 << 20)
        self.assertEqual(skipped["bootstrap-defrag-threshold"], "1.0 GB")
        self.assertEqual(skipped["current-db-size-bytes"], before)
        with self.member.channel() as channel:
            self.assertEqual(self.size(channel), before)
        self.member.kill()
        self.member.start("--experimental-bootstrap-defrag-threshold-megabytes", "20")
        self.assertTrue(self.lines("finished defragmenting directory"))
        with self.member.channel() as channel:
            self.assertLess(self.size(channel), 10 << 20)
            self.check_kept(channel)

    def test_a_file_that_is_mostly_free_is_defragmented_by_itself(self):
        """Looked at every ten seconds."""
        self.member.start("--auto-defrag-threshold-percent", "50")
        with self.member.channel() as channel:
            self.waste(channel)
            self.wait_for("not defragmented", lambda: self.size(channel) < 10 << 20, seconds=120)
            self.check_kept(channel)
        self.assertTrue(self.lines("starting auto defragment"))
        self.wait_for("no line", lambda: self.lines("finished auto defragment"))

    # ---- kill -9 in the middle of all of it ----

    def overwrite(self, stub, rng, written, deadline):
        """Puts and deletes until the deadline; `written` tells what may be there. What is refused for want of space may
        have been written all the same, as with etcd: the one that finds it out when it is applied."""
        while time.monotonic() < deadline:
            key, value = b"key%d" % rng.randrange(20), rng.randbytes(100_000)
            try:
                if rng.randrange(10) == 0:
                    written[key] = (*written.get(key, (None,)), None)
                    stub.DeleteRange(rpc_pb2.DeleteRangeRequest(key=key), timeout=10)
                    written[key] = (None,)
                else:
                    written[key] = (*written.get(key, (None,)), value)
                    server.put(stub, key, value)
                    written[key] = (value,)
            except grpc.RpcError as error:
                if "database space exceeded" not in error.details():
                    raise
                time.sleep(0.02)

    def check_written(self, stub, written):
        for key, allowed in written.items():
            kvs = server.get(stub, key).kvs
            found = kvs[0].value if kvs else None
            self.assertTrue(found in allowed, f"{key} is not what was acknowledged, nor one of {len(allowed) - 1} since")
            written[key] = (found,)

    def kill_in_its_start(self, after):
        with open(self.member.log_path, "wb") as log:
            self.member.process = subprocess.Popen(
                self.member.command(), stdout=log, stderr=log, env=self.member.environment, cwd=self.member.folder)
        time.sleep(after)
        self.member.kill()

    def test_kills_in_the_middle_of_all_of_it(self):
        """Small limits, so that kills meet compactions, alarms, their ends, and the defragmentations of starts."""
        self.member.flags += [
            "--auto-compaction-mode", "revision", "--auto-compaction-retention", "20",
            "--auto-compaction-revision-interval", "300ms", "--compaction-batch-limit", "5",
            "--quota-backend-bytes", str(12 << 20), "--bootstrap-defrag-threshold-megabytes", "1"]
        rng = random.Random(5)
        written = {}
        for number in range(8):
            self.member.start()
            with self.member.channel() as channel:
                stub = server.kv(channel)
                self.check_written(stub, written)
                self.overwrite(stub, rng, written, time.monotonic() + rng.uniform(0.3, 1.5))
                if number % 2 == 0:
                    # As its own quota does; whether that is met depends on the machine's speed.
                    server.maintenance(channel).Alarm(rpc_pb2.AlarmRequest(
                        action=rpc_pb2.AlarmRequest.ACTIVATE, memberID=server.get(stub, b"x").header.member_id,
                        alarm=rpc_pb2.NOSPACE), timeout=10)
            self.member.kill()
            self.kill_in_its_start(rng.uniform(0, 0.2))
        self.member.start()
        with self.member.channel() as channel:
            stub = server.kv(channel)
            self.check_written(stub, written)
            self.wait_for("still refused", lambda: self.is_writable(stub))
            # Enough for a compaction, however few puts there was time for before the kills.
            for _ in range(25):
                revision = server.put(stub, b"again", b"v").header.revision
            self.wait_for("compaction does not go on", lambda: self.is_compacted(stub, revision - 21))


if __name__ == "__main__":
    unittest.main()
