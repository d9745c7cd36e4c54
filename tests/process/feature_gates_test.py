#!/usr/bin/env python3
"""Feature gates whose effect shows outside: the health service during a defragmentation."""

import unittest

import cluster
import server


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

    def test_it_goes_on_serving_without_the_gate(self):
        member = self.start()
        self.defragment(member)
        cluster.wait_until(lambda: b"finished defragment" in member.log(), "the line of the end")
        self.assertNotIn(b"NOT_SERVING", member.log())

    def test_gates_without_effect_say_why_once(self):
        member = self.start("--feature-gates=FastLeaseKeepAlive=false,TxnModeWriteWithSharedBuffer=false")
        self.assertEqual(member.log().count(b"has no effect here"), 2)


if __name__ == "__main__":
    unittest.main()
