#!/usr/bin/env python3
"""Feature gates whose effect shows outside: the health service during a defragmentation, the near address of members'
connections."""

import threading
import unittest

import cluster
import server

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


class HealthWatch:
    """grpc.health.v1.Health/Watch, its answers as bytes, as they come."""

    def __init__(self, test, member):
        channel = member.channel()
        test.addCleanup(channel.close)
        self.said = []
        self.stream = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=120)
        self.check = channel.unary_unary("/grpc.health.v1.Health/Check")
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        test.addCleanup(self.reader.join)
        test.addCleanup(self.stream.cancel)
        cluster.wait_until(lambda: self.said == [SERVING], "the first answer")

    def read(self):
        try:
            self.said.extend(self.stream)
        except server.grpc.RpcError:
            pass  # canceled


class FeatureGatesTest(unittest.TestCase):
    def start(self, *flags):
        member = server.Server(*flags)
        self.addCleanup(member.close)
        return member.start()

    def defragment(self, member):
        with member.channel() as channel:
            server.maintenance(channel).Defragment(server.rpc_pb2.DefragmentRequest(), timeout=60)

    def test_the_health_service_stops_serving_while_a_client_defragments(self):
        member = self.start("--feature-gates=StopGRPCServiceOnDefrag=true")
        self.defragment(member)
        cluster.wait_until(lambda: b"finished defragment" in member.log(), "the line of the end")
        said = [line for line in member.log().decode().splitlines() if "grpc service status changed" in line]
        self.assertEqual(len(said), 2, said)
        self.assertIn('"status":"NOT_SERVING","reason":"defrag is active"', said[0])
        self.assertIn('"status":"SERVING"', said[1])
        self.assertNotIn(b"has no effect", member.log())

    def test_those_who_watch_the_health_service_are_told_of_it(self):
        member = self.start("--feature-gates=StopGRPCServiceOnDefrag=true")
        watch = HealthWatch(self, member)
        # A watcher gets the newest state, not each: a short defragmentation may pass unseen.
        def is_told():
            self.defragment(member)
            return NOT_SERVING in watch.said
        cluster.wait_until(is_told, "the health service to tell of it")
        cluster.wait_until(lambda: watch.said[-1] == SERVING, "the end of it")
        self.assertEqual(watch.said[:3], [SERVING, NOT_SERVING, SERVING])
        self.assertEqual(watch.check(b"", timeout=10), SERVING)

    def test_it_goes_on_serving_without_the_gate(self):
        member = self.start()
        watch = HealthWatch(self, member)
        for _ in range(3):
            self.defragment(member)
        self.assertEqual(watch.check(b"", timeout=10), SERVING)
        self.assertEqual(watch.said, [SERVING])
        cluster.wait_until(lambda: b"finished defragment" in member.log(), "the line of the end")
        self.assertNotIn(b"NOT_SERVING", member.log())

    def test_the_near_address_is_an_advertised_one(self):
        gate = "--feature-gates=SetMemberLocalAddr=true"
        member = self.start(gate, "--initial-advertise-peer-urls", "http://192.0.2.7:2380", "--initial-cluster",
                            "default=http://192.0.2.7:2380")
        self.assertIn(b'"setting member local address","LocalAddr":"192.0.2.7"', member.log())
        self.assertIn(b"unable to set a member local address", self.start(gate).log())

    def test_gates_without_effect_say_why_once(self):
        member = self.start("--feature-gates=FastLeaseKeepAlive=false,TxnModeWriteWithSharedBuffer=false")
        self.assertEqual(member.log().count(b"has no effect here"), 2)


if __name__ == "__main__":
    unittest.main()
