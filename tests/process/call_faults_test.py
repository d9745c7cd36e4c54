"""Calls of the C library that fail under a real process, and a wall clock that jumps: no write that was acknowledged is
lost, and nobody is served from what may be gone. faulty_calls.cc is preloaded.

Fault model: a write or a sync that fails is final for the log, whatever later ones say; so it is for the database, but
for a full disk, which leaves what is not written in the log. Half a write is none at all, and the rest follows.
"""

import os
import struct
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import server

PRELOADED = os.path.join(os.environ["KVORUM_BIN_DIR"], "libkvorum_faulty_calls.so")
LOG = "/member/wal/0"  # of segments, not of spare ones
DATABASE = "/member/snap/db"
DAYS = 86400


class CallFaultsTest(unittest.TestCase):
    def setUp(self):
        # The database is written all the time, and the log is cut.
        self.member = server.Server("--backend-batch-interval", "10ms", "--snapshot-count", "200")
        self.addCleanup(self.member.close)
        self.acknowledged = []

    def start(self, call=None, path=None, first=0, last=0, error=None):
        self.member.environment.pop("KVORUM_FAULT", None)
        if call is not None:
            self.inject(call, path, first, last, error)
        self.member.start()

    def inject(self, call, path, first, last, error):
        self.member.environment.update(LD_PRELOAD=PRELOADED, KVORUM_FAULT=f"{call} {path} {first} {last} {error}")

    def put(self, count):
        """So many one after the other; the error that ended it, if there was one."""
        with self.member.channel() as channel:
            stub = server.kv(channel)
            for _ in range(count):
                number = len(self.acknowledged)
                try:
                    answer = server.put(stub, b"%d" % number, b"value %d" % number)
                except grpc.RpcError as error:
                    return error
                self.acknowledged.append(answer.header.revision)
        return None

    def put_until_it_ends(self):
        error = self.put(5000)
        self.assertIsNotNone(error, "no write has failed")
        self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE, error.details())

    def wait_injected(self):
        cluster.wait_until(lambda: b"injected: " in self.member.log(), "the fault")

    def check(self):
        """Whatever was acknowledged is there, at its revision, and of the rest at most the last that was asked for."""
        with self.member.channel() as channel:
            rows = server.get(server.kv(channel), b"\0", range_end=b"\0").kvs
        found = {row.key: (row.value, row.mod_revision) for row in rows}
        for number, revision in enumerate(self.acknowledged):
            self.assertEqual(found.get(b"%d" % number), (b"value %d" % number, revision))
        self.assertLessEqual(len(found), len(self.acknowledged) + 1)

    def check_after_its_end(self, *texts):
        self.assertEqual(self.member.process.wait(20), 1)
        log = self.member.log()
        self.assertIn(b"injected: ", log)
        for text in texts:
            self.assertIn(text, log)
        self.assertGreater(len(self.acknowledged), 10)
        self.start()
        self.check()
        self.assertIsNone(self.put(20))

    def test_a_write_of_the_log_that_fails_ends_it(self):
        self.start("pwrite", LOG, 60, 60, "EIO")
        self.put_until_it_ends()
        self.check_after_its_end(b".wal", b"Input/output error")

    def test_a_sync_of_the_log_that_fails_ends_it_though_the_next_would_succeed(self):
        self.start("sync", LOG, 60, 60, "EIO")
        self.put_until_it_ends()
        self.check_after_its_end(b".wal", b"Input/output error")

    def test_a_write_of_the_database_that_fails_ends_it(self):
        self.start("pwrite", DATABASE, 60, 60, "EIO")
        self.put_until_it_ends()
        self.check_after_its_end(DATABASE.encode(), b"Input/output error")

    def test_a_sync_of_the_database_that_fails_ends_it(self):
        self.start("sync", DATABASE, 20, 20, "EIO")
        self.put_until_it_ends()
        self.check_after_its_end(DATABASE.encode(), b"Input/output error")

    def test_half_a_write_of_the_log_is_followed_by_the_rest(self):
        self.start("pwrite", LOG, 10, 10**9, "SHORT")
        self.assertIsNone(self.put(100))
        self.wait_injected()
        self.member.kill()
        self.start()
        self.check()

    def test_a_full_disk_under_a_meta_page_ends_it(self):
        """As a file system may have it that copies what is written again."""
        self.start("pwrite", DATABASE, 20, 20, "META")
        self.put_until_it_ends()
        self.check_after_its_end(DATABASE.encode(), b"No space left on device")

    def test_a_full_disk_of_the_database_leaves_all_in_the_log(self):
        """Writes are refused with an alarm, until it is disarmed."""
        self.start("pwrite", DATABASE, 20, 60, "ENOSPC")
        refusal = self.put(5000)
        self.assertEqual(refusal.details(), "etcdserver: mvcc: database space exceeded")
        self.assertIn(b"injected: ", self.member.log())
        self.check()
        with self.member.channel() as channel:
            admin = server.maintenance(channel)
            alarms = admin.Alarm(rpc_pb2.AlarmRequest(), timeout=10).alarms
            self.assertEqual([alarm.alarm for alarm in alarms], [rpc_pb2.NOSPACE])
        self.member.kill()
        self.start()
        self.check()
        with self.member.channel() as channel:
            server.maintenance(channel).Alarm(rpc_pb2.AlarmRequest(
                action=rpc_pb2.AlarmRequest.DEACTIVATE, memberID=alarms[0].memberID, alarm=rpc_pb2.NOSPACE), timeout=10)
        self.assertIsNone(self.put(20))
        self.check()

    def test_a_read_that_fails_at_the_start_is_no_empty_store(self):
        self.start()
        self.assertIsNone(self.put(50))
        self.assertEqual(self.member.stop()[0], 0)
        for path in (LOG, DATABASE):
            with self.subTest(path=path):
                self.inject("pread", path, 1, 1, "EIO")
                code, said = self.member.refuse()
                self.assertEqual(code, 1, said)
                self.assertIn("injected: pread", said)
                self.assertIn("Input/output error", said)
        self.start()
        self.check()

    def test_jumps_of_the_wall_clock_end_no_lease_and_no_leader(self):
        clock = os.path.join(self.member.folder, "clock")
        with open(clock, "wb") as file:
            file.write(struct.pack("<q", 0))
        self.member.environment.update(LD_PRELOAD=PRELOADED, KVORUM_CLOCK=clock)
        self.member.flags += ["--warning-unary-request-duration", "1ns"]  # a line with the time for each request
        self.start()
        with self.member.channel() as channel:
            leases = rpc_pb2_grpc.LeaseStub(channel)
            status = server.maintenance(channel).Status(rpc_pb2.StatusRequest(), timeout=10)
            long = leases.LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=600), timeout=10).ID
            server.put(server.kv(channel), b"long", b"v", lease=long)
            for days in (10, -10, 4000, 0):
                with open(clock, "r+b") as file:
                    file.write(struct.pack("<q", days * DAYS))
                # One that is granted now ends in its time, so the others were looked at meanwhile.
                short = leases.LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=1), timeout=10).ID
                server.put(server.kv(channel), b"short", b"v", lease=short)
                cluster.wait_until(lambda: not server.get(server.kv(channel), b"short").kvs, "the short lease to end")
                left = leases.LeaseTimeToLive(rpc_pb2.LeaseTimeToLiveRequest(ID=long), timeout=10)
                self.assertGreater(left.TTL, 500, days)
                self.assertIsNone(self.put(10))
            now = server.maintenance(channel).Status(rpc_pb2.StatusRequest(), timeout=10)
            self.assertEqual((now.leader, now.raftTerm), (status.leader, status.raftTerm))
            server.kv(channel).DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"long"), timeout=10)
        years = {line.split(b'"ts":"')[1][:4] for line in self.member.log().splitlines()}
        self.assertGreaterEqual(len(years), 2, "no clock has jumped")
        self.member.kill()
        self.start()
        self.check()


if __name__ == "__main__":
    unittest.main()
