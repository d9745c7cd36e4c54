"""Three and five members without faults in their way, and with more members dead than they can do without."""

import os
import subprocess
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2

import cluster
import server

ETCDCTL = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcdctl")
# A call that waits for a quorum in vain gives up after 5 s and two election time-outs.
GIVES_UP_SECONDS = 5 + 2 * 0.5
# The errors that a call which needs a quorum may get without one.
REFUSALS = [
    (grpc.StatusCode.UNAVAILABLE, "etcdserver: no leader"),
    (grpc.StatusCode.UNAVAILABLE, "etcdserver: leader changed"),
    (grpc.StatusCode.UNAVAILABLE, "etcdserver: request timed out"),
    (grpc.StatusCode.UNAVAILABLE, "etcdserver: request timed out, possibly due to previous leader failure"),
    (grpc.StatusCode.UNAVAILABLE, "etcdserver: request timed out, possibly due to connection lost"),
    (grpc.StatusCode.DEADLINE_EXCEEDED, "context deadline exceeded"),
]


class ClusterTest(unittest.TestCase):
    def start(self, size):
        members = cluster.Cluster(size)
        self.addCleanup(members.close)
        members.start()
        members.leader()
        return members

    def test_every_member_takes_writes_and_reads_what_the_others_wrote(self):
        three = self.start(3)
        for writer in three.members:
            with writer.channel() as channel:
                put = server.put(server.kv(channel), writer.name.encode(), b"v")
            for reader in three.members:
                with reader.channel() as channel:
                    answer = server.get(server.kv(channel), writer.name.encode())
                    self.assertEqual([kv.value for kv in answer.kvs], [b"v"])
                    self.assertEqual(answer.header.revision, put.header.revision)
        three.check_equal()

    def test_etcdctl_sees_all_members_and_one_leader(self):
        three = self.start(3)
        endpoints = "--endpoints=" + ",".join(three.endpoints)
        environment = {"ETCDCTL_API": "3"}
        listed = subprocess.run([ETCDCTL, endpoints, "member", "list"], capture_output=True, check=True,
                                env=environment).stdout.decode()
        self.assertEqual(len(listed.splitlines()), 3)
        for member in three.members:
            self.assertIn(f"started, {member.name}, {member.peer_url}, http://{member.endpoint}", listed)
        status = subprocess.run([ETCDCTL, endpoints, "endpoint", "status"], capture_output=True, check=True,
                                env=environment).stdout.decode()
        self.assertEqual([line.split(", ")[4] for line in status.splitlines()].count("true"), 1)
        subprocess.run([ETCDCTL, endpoints, "endpoint", "health"], capture_output=True, check=True,
                       env=environment)

    def test_a_stopped_leader_hands_over_and_its_restart_catches_up(self):
        three = self.start(3)
        leader = three.leader()
        code, seconds = leader.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 1.5)
        new = three.leader()
        self.assertIsNot(new, leader)
        with new.channel() as channel:
            server.put(server.kv(channel), b"while", b"away")
        leader.start()
        with leader.channel() as channel:
            self.assertEqual(server.get(server.kv(channel), b"while").kvs[0].value, b"away")
        three.check_equal()
        three.check_logs()

    def test_all_members_restart_with_everything(self):
        three = self.start(3)
        with three.members[0].channel() as channel:
            for number in range(20):
                server.put(server.kv(channel), b"k%d" % number, b"v")
        for member in three.members:
            member.kill()
        three.start()
        with three.members[2].channel() as channel:
            answer = server.get(server.kv(channel), b"k", range_end=b"l")
        self.assertEqual((answer.count, answer.header.revision), (20, 21))
        three.check_equal()

    def test_five_with_two_dead_serve_everything_and_with_three_dead_only_serializable_reads(self):
        five = self.start(5)
        leader = five.leader()
        others = [m for m in five.members if m is not leader]
        for dead in (leader, others[0]):
            dead.kill()
        five.leader()
        alive = five.alive
        for member in alive:
            with member.channel() as channel:
                server.put(server.kv(channel), member.name.encode(), b"v")
                self.assertEqual(server.get(server.kv(channel), member.name.encode()).count, 1)
                txn = rpc_pb2.TxnRequest(success=[rpc_pb2.RequestOp(
                    request_put=rpc_pb2.PutRequest(key=b"txn", value=b"v"))])
                self.assertTrue(server.kv(channel).Txn(txn, timeout=10).succeeded)
                server.kv(channel).DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"txn"), timeout=10)
        revision = five.details(alive[0])["header"]["revision"]

        alive[0].kill()
        for member in alive[1:]:
            self.check_without_quorum(five, member, alive[0].name.encode(), revision)

        for member in five.members:
            if not member.alive:
                member.start()
        five.leader()
        with alive[1].channel() as channel:
            server.put(server.kv(channel), b"again", b"v")
        five.check_equal()
        five.check_logs()

    def check_without_quorum(self, five, member, key, revision):
        # It serves its own state; nothing that needs the others.
        cluster.wait_until(lambda: self.sees_no_leader(member), f"{member.name} to see no leader")
        with member.channel() as channel:
            answer = server.get(server.kv(channel), key, serializable=True)
            self.assertEqual([kv.value for kv in answer.kvs], [b"v"])
            self.assertEqual(answer.header.revision, revision)
            stub = server.kv(channel)
            refused = [
                (stub.Put, rpc_pb2.PutRequest(key=b"refused", value=b"v")),
                (stub.DeleteRange, rpc_pb2.DeleteRangeRequest(key=key)),
                (stub.Range, rpc_pb2.RangeRequest(key=key)),
            ]
            begin = time.monotonic()
            calls = [(method.future(request, timeout=30)) for method, request in refused]
            for call in calls:
                error = call.exception()
                self.assertIn((error.code(), error.details()), REFUSALS)
            self.assertLess(time.monotonic() - begin, GIVES_UP_SECONDS + 3)
            # A client that asked for a leader is told at once.
            begin = time.monotonic()
            with self.assertRaises(grpc.RpcError) as caught:
                stub.Put(rpc_pb2.PutRequest(key=b"refused", value=b"v"), timeout=30,
                         metadata=(("hasleader", "true"),))
            self.assertEqual(caught.exception.details(), "etcdserver: no leader")
            self.assertLess(time.monotonic() - begin, GIVES_UP_SECONDS / 2)

    def sees_no_leader(self, member):
        status = member.status()
        return status is not None and status.leader == 0


if __name__ == "__main__":
    unittest.main()
