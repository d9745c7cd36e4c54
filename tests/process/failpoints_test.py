"""Failpoints as a user meets them: kvorum-failpoints can be stopped from outside, the server that is shipped can't."""

import http.client
import os
import pathlib
import re
import socket
import time
import unittest
import urllib.request

import cluster
import points
import ports
import server

FOLDER = pathlib.Path(os.environ["KVORUM_BIN_DIR"])
PAGE = pathlib.Path(__file__).parents[2] / "docs/operations/failpoints.md"


class FailpointsTest(unittest.TestCase):
    def setUp(self):
        self.member = server.Server()
        self.addCleanup(self.member.close)
        self.control = ports.free_port()
        self.member.environment |= {"GOFAIL_HTTP": f"127.0.0.1:{self.control}",
                                    "GOFAIL_FAILPOINTS": "beforeCheckpointInLeaseRenew=sleep(1)"}

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.control, timeout=10)
        self.addCleanup(connection.close)
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def put(self):
        with self.member.channel() as channel:
            server.put(server.kv(channel), b"key", b"value")

    def test_the_server_that_is_shipped_has_no_control(self):
        self.member.environment["GOFAIL_FAILPOINTS"] = "walBeforeSync=panic"
        self.member.start()
        self.put()
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.control), timeout=10)

    def test_nothing_of_the_control_is_in_the_programs_that_are_shipped(self):
        for name in ("kvorum", "kvorumctl", "kvorumutl"):
            self.assertNotIn(b"GOFAIL_", (FOLDER / name).read_bytes(), name)
        self.assertIn(b"GOFAIL_HTTP", (FOLDER / "kvorum-failpoints").read_bytes())

    def test_points_are_set_by_the_environment_and_over_http(self):
        self.member.binary = str(FOLDER / "kvorum-failpoints")
        self.member.start()
        self.assertEqual(self.ask("GET", "/beforeCheckpointInLeaseRenew"), (200, "sleep(1)\n"))
        self.assertEqual(self.ask("PUT", "/walBeforeSync", "print")[0], 204)
        self.put()
        self.assertGreaterEqual(int(self.ask("GET", "/walBeforeSync/count")[1]), 1)
        self.assertEqual(self.ask("PUT", "/noSuchPoint", "print")[0], 404)
        # What would do nothing is refused, and not set in vain.
        self.assertEqual(self.ask("PUT", "/walBeforeSync", "return")[0], 400)
        self.assertEqual(self.ask("PUT", "/walSyncError", "5%return(\"lost\")")[0], 204)

    def test_the_points_are_those_of_the_page(self):
        self.member.binary = str(FOLDER / "kvorum-failpoints")
        self.member.start()
        told = PAGE.read_text(encoding="utf-8").split("## Points\n")[1]
        told = {name for row in re.findall(r"^\| .* \| (.*) \|$", told, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
        known = {line.split("=")[0] for line in self.ask("GET", "/")[1].splitlines()}
        self.assertGreater(len(told), 50)
        self.assertEqual(known, told)

    def test_a_sleeping_apply_holds_up_neither_the_control_nor_other_calls(self):
        self.member.binary = str(FOLDER / "kvorum-failpoints")
        self.member.start()
        self.put()
        self.assertEqual(self.ask("PUT", "/beforeApplyOneEntryNormal", "sleep(3000)")[0], 204)
        with self.member.channel() as channel:
            stub = server.kv(channel)
            slow = stub.Put.future(server.rpc_pb2.PutRequest(key=b"key", value=b"later"), timeout=30)
            end = time.monotonic() + 30
            while self.ask("GET", "/beforeApplyOneEntryNormal/count")[1].strip() == "0":
                self.assertLess(time.monotonic(), end)
            self.assertEqual(server.get(stub, b"key", serializable=True).kvs[0].value, b"value")
            self.assertFalse(slow.done())
            self.assertEqual(self.ask("DELETE", "/beforeApplyOneEntryNormal")[0], 204)
            slow.result()

    def test_a_panic_ends_the_process(self):
        self.member.binary = str(FOLDER / "kvorum-failpoints")
        self.member.start()
        self.assertEqual(self.ask("PUT", "/walBeforeSync", "panic")[0], 204)
        with self.assertRaises(server.grpc.RpcError):
            self.put()
        self.assertEqual(self.member.process.wait(30), -6)
        self.assertIn(b"failpoint panic", self.member.log())
        self.member.environment["GOFAIL_FAILPOINTS"] = ""
        self.member.start()
        self.put()


class DroppedMessagesTest(unittest.TestCase):
    def test_a_member_that_drops_what_its_streams_bring_has_no_leader_until_it_hears_again(self):
        members = cluster.Cluster(3)
        self.addCleanup(members.close)
        controls = {member: points.Points(member) for member in members.members}
        members.start()
        leader = members.leader()
        deaf = next(m for m in members.members if m is not leader)
        controls[deaf].set("raftDropHeartbeat", "return")
        cluster.wait_until(lambda: deaf.wait_status().leader == 0, "it to have lost its leader")
        with leader.channel() as channel:
            server.put(server.kv(channel), b"key", b"value")
        # Its streams stand, so nobody is dialled, and the others go on.
        self.assertEqual(self.active_peers(deaf), [1, 1])
        self.assertNotIn(b"peer became inactive", deaf.log())
        self.assertIs(members.leader(among=[m for m in members.members if m is not deaf]), leader)
        with deaf.channel() as channel:
            self.assertFalse(server.get(server.kv(channel), b"key", serializable=True).kvs)
            controls[deaf].clear("raftDropHeartbeat")
            cluster.wait_until(lambda: server.get(server.kv(channel), b"key", serializable=True).kvs,
                               "it to be told of the key")
        cluster.wait_until(lambda: deaf.wait_status().leader != 0, "it to hear a leader")
        members.check_equal()

    @staticmethod
    def active_peers(member):
        with urllib.request.urlopen(f"http://{member.endpoint}/metrics", timeout=10) as page:
            return [float(line.split()[-1]) for line in page.read().decode().splitlines()
                    if line.startswith("etcd_network_active_peers{")]


if __name__ == "__main__":
    unittest.main()
