"""Leases of clients that go on while leaders die and stop: none that is kept alive is lost, none that is not lives
for ever, and all members end equal.
"""

import os
import subprocess
import threading
import time
import unittest

import etcd3
import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import server

NODE_MODULES = os.environ["KVORUM_NODE_DIR"]
PEER = os.environ["KVORUM_PEER_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
TTL_SECONDS = 4
# An election takes at most two time-outs of 0.5 s and the votes; a busy machine takes longer.
SLACK_SECONDS = 10


class Keeper:
    """Keeps a lease alive through one member, on streams that it opens anew when one breaks."""

    def __init__(self, endpoint, lease):
        self.endpoint = endpoint
        self.lease = lease
        self.lost = False
        self.renewed = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _requests(self):
        while not self._stopped.is_set():
            yield rpc_pb2.LeaseKeepAliveRequest(ID=self.lease)
            self._stopped.wait(0.3)

    def _run(self):
        with cluster.channel_to(self.endpoint) as channel:
            while not self._stopped.is_set():
                try:
                    for answer in rpc_pb2_grpc.LeaseStub(channel).LeaseKeepAlive(self._requests()):
                        if answer.TTL == 0:
                            self.lost = True
                            return
                        self.renewed += 1
                except grpc.RpcError:
                    self._stopped.wait(0.1)

    def stop(self):
        self._stopped.set()
        self._thread.join()

    def wait_more(self, count):
        goal = self.renewed + count
        cluster.wait_until(lambda: self.renewed >= goal or self.lost, "renewals")


class LeasesTest(unittest.TestCase):
    def setUp(self):
        self.members = cluster.Cluster(3).start()
        self.addCleanup(self.members.close)

    def lease_stub(self, member):
        channel = member.channel()
        self.addCleanup(channel.close)
        return rpc_pb2_grpc.LeaseStub(channel)

    def grant(self, member, ttl=TTL_SECONDS):
        return self.lease_stub(member).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=ttl), timeout=10).ID

    def remaining(self, member, lease):
        return self.lease_stub(member).LeaseTimeToLive(rpc_pb2.LeaseTimeToLiveRequest(ID=lease), timeout=10).TTL

    def put(self, member, key, lease):
        with member.channel() as channel:
            server.kv(channel).Put(rpc_pb2.PutRequest(key=key, value=b"v", lease=lease), timeout=10)

    def count(self, member, key):
        with member.channel() as channel:
            return server.kv(channel).Range(rpc_pb2.RangeRequest(key=key), timeout=10).count

    def keep(self, member, lease):
        keeper = Keeper(member.endpoint, lease)
        self.addCleanup(keeper.stop)
        return keeper

    def test_kept_alive_leases_outlive_leaders_that_are_killed(self):
        first = self.members.leader()
        kept = {}
        for member in self.members.members:
            lease = self.grant(member)
            key = b"kept by " + member.name.encode()
            self.put(member, key, lease)
            kept[key] = self.keep(member, lease)
        abandoned = self.grant(first)
        self.put(first, b"abandoned", abandoned)
        for _ in range(3):
            leader = self.members.leader()
            leader.kill()
            self.members.leader()
            for keeper in kept.values():
                if keeper.endpoint != leader.endpoint:
                    keeper.wait_more(3)
            leader.start()
            for keeper in kept.values():
                keeper.wait_more(3)
        cluster.wait_until(lambda: self.count(self.members.leader(), b"abandoned") == 0,
                           "the abandoned lease to end", TTL_SECONDS + SLACK_SECONDS)
        for key, keeper in kept.items():
            self.assertFalse(keeper.lost, key)
            self.assertEqual(self.count(self.members.leader(), key), 1, key)
            keeper.stop()
        for key in kept:
            cluster.wait_until(lambda key=key: self.count(self.members.leader(), key) == 0,
                               f"{key} to end", TTL_SECONDS + SLACK_SECONDS)
        self.members.check_equal()
        self.members.check_logs()

    def test_a_stalled_leader_ends_no_lease_that_its_successor_renewed(self):
        for pause_seconds in (1.6, 5):
            leader = self.members.leader()
            follower = self.members.followers()[0]
            lease = self.grant(follower)
            self.put(follower, b"key", lease)
            cluster.wait_until(lambda: self.remaining(leader, lease) <= 1, "the lease to be about to expire")
            leader.pause()
            keeper = self.keep(follower, lease)
            keeper.wait_more(3)
            time.sleep(pause_seconds)
            leader.resume()
            keeper.wait_more(20)
            self.assertFalse(keeper.lost)
            self.assertEqual(self.count(follower, b"key"), 1)
            keeper.stop()
        self.members.check_equal()

    def test_a_renewal_handed_to_a_leader_that_hangs_goes_to_the_next(self):
        leader = self.members.leader()
        follower = self.members.followers()[0]
        lease = self.grant(follower)
        self.put(follower, b"key", lease)
        keeper = self.keep(follower, lease)
        keeper.wait_more(3)
        leader.pause()
        renewed = keeper.renewed
        time.sleep(2 * TTL_SECONDS)  # no time-out of a request is as long
        self.assertGreater(keeper.renewed, renewed + 2 * TTL_SECONDS)
        leader.resume()
        keeper.wait_more(20)
        self.assertFalse(keeper.lost)
        self.assertEqual(self.count(follower, b"key"), 1)
        self.members.check_equal()

    def test_the_python_client(self):
        follower = self.members.followers()[0]
        host, port = follower.endpoint.split(":")
        client = etcd3.client(host=host, port=int(port), timeout=10)
        self.addCleanup(client.close)
        lease = client.lease(TTL_SECONDS)
        client.put("key", "value", lease=lease)
        self.assertEqual(client.get_lease_info(lease.id).keys, [b"key"])
        leader = self.members.leader()
        leader.kill()

        def refresh():
            try:
                return lease.refresh()[0].TTL
            except (grpc.RpcError, etcd3.exceptions.Etcd3Exception):
                return 0
        cluster.wait_until(lambda: refresh() == TTL_SECONDS, "a renewal", SLACK_SECONDS)
        self.assertEqual(client.get("key")[0], b"value")
        self.assertEqual(lease.granted_ttl, TTL_SECONDS)
        self.assertLessEqual(lease.remaining_ttl, TTL_SECONDS)
        leader.start()
        lease.revoke()
        self.assertEqual(client.get("key"), (None, None))
        self.members.check_equal()

    def test_the_node_client(self):
        process = subprocess.Popen(
            ["node", os.path.join(HERE, "node_lease.js"), *(f"http://{e}" for e in self.members.endpoints)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={"PATH": os.environ["PATH"], "NODE_PATH": NODE_MODULES})
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.assertEqual(process.stdout.readline(), "granted\n")
        leader = self.members.leader()
        leader.kill()
        # A lease that is granted later, of the same time to live, ends when this one would have long ended.
        successor = self.members.leader()
        self.put(successor, b"abandoned", self.grant(successor))
        cluster.wait_until(lambda: self.count(successor, b"abandoned") == 0, "the abandoned lease to end",
                           TTL_SECONDS + SLACK_SECONDS)
        leader.start()
        output, _ = process.communicate("check\n", timeout=60)
        self.assertEqual(output, "all is well\n")
        self.assertEqual(process.returncode, 0)

    def test_kvorumctl_keeps_a_lease_alive_beyond_its_leader(self):
        lease = self.grant(self.members.followers()[0])
        self.put(self.members.followers()[0], b"key", lease)
        process = subprocess.Popen(
            [cluster.CTL, "--endpoints", ",".join(self.members.endpoints), "lease", "keep-alive", f"{lease:x}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={"PATH": os.environ["PATH"]})
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        renewed = f"lease {lease:016x} keepalived with TTL({TTL_SECONDS})\n"
        self.assertEqual(process.stdout.readline(), renewed)
        leader = self.members.leader()
        leader.kill()
        for _ in range(2 * TTL_SECONDS):  # each a third of its time after the last
            self.assertEqual(process.stdout.readline(), renewed)
        leader.start()
        self.assertEqual(self.count(self.members.leader(), b"key"), 1)
        self.lease_stub(self.members.leader()).LeaseRevoke(rpc_pb2.LeaseRevokeRequest(ID=lease), timeout=10)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(output.replace(renewed, ""), f"lease {lease:016x} expired or revoked.\n")
        self.assertEqual(process.returncode, 0)

    def test_etcdctl(self):
        def etcdctl(*arguments):
            done = subprocess.run(
                [os.path.join(PEER, "etcdctl"), "--endpoints", self.members.followers()[0].endpoint, *arguments],
                capture_output=True, text=True, timeout=30, check=False,
                env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        granted = etcdctl("lease", "grant", "60")
        self.assertRegex(granted, r"^lease [0-9a-f]{16} granted with TTL\(60s\)\n$")
        lease = granted.split()[1]
        etcdctl("put", "--lease", lease, "key", "value")
        self.assertRegex(etcdctl("lease", "timetolive", "--keys", lease),
                         rf"^lease {lease} granted with TTL\(60s\), remaining\((60|59|58)s\), "
                         r"attached keys\(\[key\]\)\n$")
        self.assertEqual(etcdctl("lease", "list"), f"found 1 leases\n{lease}\n")
        self.assertEqual(etcdctl("lease", "keep-alive", "--once", lease),
                         f"lease {lease} keepalived with TTL(60)\n")
        self.assertEqual(etcdctl("lease", "revoke", lease), f"lease {lease} revoked\n")
        self.assertEqual(etcdctl("get", "key"), "")
        self.assertEqual(etcdctl("lease", "timetolive", lease), f"lease {lease} already expired\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
