#!/usr/bin/env python3
"""kvorumctl snapshot-server against real servers, kvorum and etcd: what subscribers are sent, refuse and come back
with, and that bad input is named and harms nobody else."""

import base64
import contextlib
import json
import os
import pathlib
import queue
import sys
import tempfile
import time
import types
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "process"))

import grpc  # noqa: E402

import certificates  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
import hostile_clients_test  # noqa: E402
import hostile_kinds  # noqa: E402
import ports  # noqa: E402
import server  # noqa: E402
import strangers  # noqa: E402
import talker  # noqa: E402

STRANGER_SECONDS = 10
METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"


class Told(talker.Talker):
    """A long-running command that tells its events as JSON lines."""

    def __init__(self, *arguments):
        super().__init__([ctl.CTL, "-w", "json", *arguments])

    def next(self, event):
        """Its next event, which must be this one."""
        told = json.loads(self.line())
        assert told.pop("event") == event, told
        return told

    def until(self, event):
        while True:
            told = json.loads(self.line())
            if told.pop("event") == event:
                return told


class Subscriber(Told):
    def __init__(self, address, node, *flags, types=("dp",), more=()):
        super().__init__(*more, "snapshot-server", "subscribe", "--address", address, "--node", node,
                         *(word for name in types for word in ("--type", name)), *flags)

    def response(self):
        """What its next response brings: ({name: value}, [names that are gone])."""
        told = self.until("response")
        resources = {r["name"]: base64.b64decode(r["value"]).decode() for r in told.get("resources", [])}
        return resources, told.get("removed", [])


class SnapshotServer:
    """The tests; their heirs give a server's endpoint."""

    endpoint = None

    def setUp(self):
        ctl.succeed(self.endpoint, "del", "--prefix", "/")
        self.address = f"127.0.0.1:{ports.free_port()}"

    def serve(self, *flags, types=("dp=/dp/", "mesh=/mesh/")):
        served = self.enterContext(Told(
            "--endpoints", self.endpoint, "snapshot-server", "run", "--listen", self.address, "--flush", "50ms",
            *(word for each in types for word in ("--type", each)), *flags))
        served.metrics = served.next("metrics")["address"] if "--metrics-address" in flags else None
        self.assertEqual(served.next("listening"), {"address": self.address})
        return served

    def subscribe(self, node, *flags, **more):
        return self.enterContext(Subscriber(self.address, node, *flags, **more))

    def put(self, key, value):
        ctl.succeed(self.endpoint, "put", key, value)

    def test_subscribers_get_what_changes_and_what_goes(self):
        self.put("/dp/a", "1")
        self.put("/mesh/m", "x\ny")
        served = self.serve()
        one = self.subscribe("zone-1")
        both = self.subscribe("zone-2", types=("dp", "mesh"))
        self.assertEqual(one.response(), ({"a": "1"}, []))
        self.assertCountEqual([both.response(), both.response()], [({"a": "1"}, []), ({"m": "x\ny"}, [])])
        self.put("/dp/b", "1")
        self.assertEqual([one.response(), both.response()], [({"b": "1"}, [])] * 2)
        ctl.succeed(self.endpoint, "del", "/dp/a")
        self.assertEqual([one.response(), both.response()], [({}, ["a"])] * 2)
        ctl.succeed(self.endpoint, "del", "/mesh/m")  # the type's last
        self.assertEqual(both.response(), ({}, ["m"]))
        self.assertEqual([each.terminate(timeout=10) for each in (one, both, served)], [0, 0, 0])

    def test_what_is_refused_is_told_and_not_sent_again_before_it_changes(self):
        self.put("/dp/a", "1")
        served = self.serve()
        odd = self.subscribe("zone-1", "--nack", "not\ttoday")
        self.assertEqual(odd.next("response")["refused"], "not\ttoday")
        refused = {"node": "zone-1", "type": "dp", "refusal": "not\ttoday"}
        self.assertEqual(served.next("refused"), {**refused, "nonce": "1"})
        self.put("/dp/b", "1")
        self.assertEqual(odd.response(), ({"b": "1"}, []))
        self.assertEqual(served.next("refused"), {**refused, "nonce": "2"})

    def test_the_status_shows_who_holds_and_refuses_what(self):
        self.put("/dp/a", "1")
        socket = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "s")
        served = self.serve("--socket", socket, "--metrics-address", "127.0.0.1:0", "--full", "1h")
        metrics = served.metrics
        one = self.subscribe("zone-1", types=("dp", "mesh"))
        self.subscribe("zone-2", "--nack", "not today")
        one.response()
        served.next("refused")
        self.put("/dp/b", "1")
        while "b" not in one.response()[0]:
            pass
        served.next("refused")

        def status(*flags):
            return ctl.succeed("unused", "snapshot-server", "status", "--socket", socket, *flags)

        def states():
            return {state["node"]: state for state in map(json.loads, status("-w", "json").splitlines())}

        def settled():
            dp, _ = states()["zone-1"]["types"]
            return dp["acknowledged"] == dp["nonce"] and states()

        told = cluster.wait_until(settled, "zone-1's answer")
        dp, mesh = told["zone-1"]["types"]
        self.assertEqual([dp["type"], mesh["type"], dp["refused"], told["zone-1"]["reason"]],
                         ["dp", "mesh", "", "event"])
        (refused,) = told["zone-2"]["types"]
        self.assertEqual(refused, {"type": "dp", "version": dp["version"], "nonce": "2", "acknowledged": "",
                                   "refused": "2", "refusal": "not today"})
        self.assertIn(f"zone-2, dp, {dp['version']}, 2, , 2, not today, event\n", status())
        self.assertIn("LAST REASON", status("-w", "table"))
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        for line in ('kvsync_wd_nack_total{node="zone-2",type="dp"} 2', 'kvsync_streams{node="zone-1"} 1',
                     'kvsync_source_revision{prefix="/dp/"}', 'kvsync_source_revision{prefix="/mesh/"}'):
            self.assertIn("\n" + line, text)
        self.assertEqual(served.terminate(timeout=10), 0)
        self.assertFalse(os.path.exists(socket))

    def test_after_a_restart_of_the_server_nothing_is_sent_again(self):
        self.put("/dp/a", "1")
        self.put("/dp/b", "1")
        served = self.serve()
        one = self.subscribe("zone-1")
        self.assertEqual(one.response(), ({"a": "1", "b": "1"}, []))
        served.kill()
        self.put("/dp/b", "2")
        self.serve()
        self.assertEqual(one.response(), ({"b": "2"}, []))

    def test_a_second_subscriber_of_a_node_replaces_the_first(self):
        self.put("/dp/a", "1")
        served = self.serve()
        first = self.subscribe("zone-1")
        first.response()
        self.subscribe("zone-1").response()
        self.assertEqual(served.next("error")["error"],
                         "node zone-1: a newer stream of the node replaces this one")
        self.assertEqual(first.until("error")["error"],
                         "the stream ended: a newer stream of the node replaces this one")

    def test_a_type_that_is_not_served_ends_its_subscriber_and_nobody_else(self):
        served = self.serve()
        one = self.subscribe("zone-1")
        one.response()
        text = "type secrets is not served here; these are: dp, mesh"
        done = ctl.run(self.endpoint, "snapshot-server", "subscribe", "--address", self.address, "--node", "zone-2",
                       "--type", "secrets")
        self.assertEqual((done.returncode, done.stderr), (1, f"Error: {text}\n"))
        self.assertEqual(served.next("error"), {"error": f"node zone-2: {text}"})
        self.put("/dp/a", "1")
        self.assertEqual(one.response(), ({"a": "1"}, []))

    def test_a_subscriber_that_does_not_read_is_ended_and_nobody_else(self):
        for i in range(9):  # in one response they are more than a connection holds
            ctl.succeed(self.endpoint, "put", f"/dp/{i}", stdin="x" * 1_000_000)
        served = self.serve("--send-timeout", "500ms")
        channel = self.enterContext(grpc.insecure_channel(
            self.address, options=[("grpc.max_receive_message_length", -1)]))
        requests = queue.SimpleQueue()
        self.addCleanup(requests.put, None)
        stuck = channel.stream_stream(METHOD)(iter(requests.get, None))
        requests.put(b"\x0a\x08\x0a\x06zone-1\x12\x02dp")  # the node's id, and the type
        well = self.subscribe("zone-2")
        self.assertEqual(len(well.response()[0]), 9)
        self.assertEqual(served.next("error")["error"], "node zone-1: a response was not read in time")
        self.put("/dp/0", "1")
        self.assertEqual(well.response(), ({"0": "1"}, []))
        with self.assertRaises(grpc.RpcError) as end:
            list(stuck)
        self.assertEqual(end.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)

    def test_hostile_clients_harm_nobody_and_are_cut_off(self):
        """Those of the store's own port, which have their limits here as well."""
        self.put("/dp/a", "0")
        served = self.serve()
        one = self.subscribe("zone-1")
        self.assertEqual(one.response(), ({"a": "0"}, []))
        before = hostile_clients_test.resident_bytes(served.process.pid)
        port = types.SimpleNamespace(port=int(self.address.rsplit(":", 1)[1]))
        hostile = [hostile_clients_test.Hostile(port, kind) for kind in hostile_kinds.KINDS * 20]
        for client in hostile:
            self.addCleanup(client.socket.close)
        for i in range(1, 13):  # longer than a connection may show nothing
            for client in hostile:
                client.trickle()
            self.put("/dp/a", str(i))
            self.assertEqual(one.response(), ({"a": str(i)}, []))
            time.sleep(1)
        self.assertLess(hostile_clients_test.resident_bytes(served.process.pid) - before, 64 << 20)
        for client in hostile:
            if client.kind.name in hostile_clients_test.CUT_OFF:
                client.socket.settimeout(10)
                with contextlib.suppress(ConnectionResetError):
                    while client.socket.recv(4096):
                        pass

    def test_strangers_who_send_without_an_end_harm_nobody(self):
        """As on the store's own ports."""
        self.put("/dp/a", "0")
        served = self.serve()
        one = self.subscribe("zone-1")
        self.assertEqual(one.response(), ({"a": "0"}, []))
        before = hostile_clients_test.resident_bytes(served.process.pid)
        port = int(self.address.rsplit(":", 1)[1])
        kinds = [kind for path in (METHOD, "/nothing") for ways in (strangers.framing, strangers.on_any_port, strangers.http2)
                 for kind in ways(port, path)]
        crowd = strangers.Strangers(kinds, STRANGER_SECONDS)
        crowd.start()
        highest = rounds = 0
        while crowd.is_alive():
            rounds += 1
            self.put("/dp/a", str(rounds))
            self.assertEqual(one.response(), ({"a": str(rounds)}, []))
            highest = max(highest, hostile_clients_test.resident_bytes(served.process.pid))
        crowd.join()
        self.assertGreater(rounds, STRANGER_SECONDS)
        crowd.check(self)
        self.assertLess(highest - before, 64 << 20)
        self.put("/dp/a", "after")
        self.assertEqual(one.response(), ({"a": "after"}, []))
        self.assertEqual(served.terminate(timeout=10), 0)

    def test_a_subscriber_to_the_state_of_the_world_is_told_what_there_is(self):
        self.serve()
        with grpc.insecure_channel(self.address) as channel, self.assertRaises(grpc.RpcError) as end:
            list(channel.stream_stream(METHOD.replace("/Delta", "/Stream"))(iter([b""])))
        self.assertEqual(end.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertIn("DeltaAggregatedResources", end.exception.details())

    def test_a_node_is_the_one_of_its_certificate(self):
        secured = certificates.Secured(self.enterContext(tempfile.TemporaryDirectory()))
        files = secured.files("server")[1]
        self.put("/dp/a", "1")
        self.serve("--cert-file", files.certificate, "--key-file", files.key, "--trusted-ca-file", files.authorities,
                   "--node-from-certificate")
        known = "client"  # as its certificate says
        one = self.subscribe(known, more=secured.client.ctl())
        self.assertEqual(one.response(), ({"a": "1"}, []))
        thief = self.subscribe("zone-2", more=secured.client.ctl())
        self.assertIn(f"the node is not the one of the client's certificate, {known}", thief.until("error")["error"])

    def test_with_certificates_each_side_checks_the_other(self):
        secured = certificates.Secured(self.enterContext(tempfile.TemporaryDirectory()))
        files = secured.files("server")[1]
        self.put("/dp/a", "1")
        self.serve("--cert-file", files.certificate, "--key-file", files.key, "--trusted-ca-file", files.authorities)
        one = self.subscribe("zone-1", more=secured.client.ctl())
        self.assertEqual(one.response(), ({"a": "1"}, []))
        stranger = self.subscribe("zone-2", more=["--cacert", secured.client.authorities])
        for _ in range(3):  # it tries again and again
            stranger.next("error")

    def test_bad_input_is_named(self):
        for flags, why in (
                (["--type", "dp"], '--type "dp": it is not NAME=PREFIX'),
                (["--type", "dp=/a", "--type", "dp=/b"], '--type "dp=/b": the name is given twice'),
                (["--type", "dp="], '--type "dp=": the prefix is empty'),
                (["--type", "=/a"], '--type "=/a": the name is empty'),
                (["--type", b"\xff=/a"], r'--type "\xff=/a": the name is not UTF-8'),
                (["--type", ""], "--type is empty"),
                (["--type", "dp=/a", "--flush", "1ms"], "--flush must be at least 10ms"),
                (["--type", "dp=/a", "--full", "1ms"], "--full must be at least --flush"),
                (["--type", "dp=/a", "--send-timeout", "0s"], "--send-timeout must be at least 10ms"),
                (["--type", "dp=/a", "--cert-file", "x"], "--cert-file and --key-file need each other"),
                (["--type", "dp=/a", "--node-from-certificate"], "--node-from-certificate needs --trusted-ca-file"),
                (["--type", "dp=/a", "--trusted-ca-file", "x"],
                 "--trusted-ca-file needs --cert-file and --key-file"),
                (["--type", "dp=/a", "x"], "snapshot-server run takes no arguments")):
            done = ctl.run(self.endpoint, "snapshot-server", "run", *flags)
            self.assertEqual((done.returncode, done.stderr), (128, f"Error: {why}\n"))
        for flags, why in (
                (["--node", "", "--type", "dp"], "--node is empty"),
                (["--node", "z", "--type", ""], "--type is empty"),
                (["--node", "z", "--type", "dp", "--type", "dp"], '--type "dp": it is given twice'),
                (["--node", b"\xff", "--type", "dp"], "--node is not UTF-8"),
                (["--node", "z", "--type", "dp", "--nack", ""], "--nack is empty"),
                (["--node", "z", "--type", "dp", "--address", ""], "--address is empty")):
            done = ctl.run(self.endpoint, "snapshot-server", "subscribe", *flags)
            self.assertEqual((done.returncode, done.stderr), (128, f"Error: {why}\n"))
        done = ctl.run(self.endpoint, "snapshot-server", "run", "--type", "dp=/a", "--listen", self.endpoint)
        self.assertEqual((done.returncode, done.stderr), (1, f"Error: cannot listen on {self.endpoint}\n"))
        done = ctl.run(self.endpoint, "snapshot-server", "status", "--socket", "/nowhere")
        self.assertEqual(done.returncode, 2)


class KvorumTest(SnapshotServer, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = cls.enterClassContext(server.Server())
        cls.node.start()
        cls.endpoint = cls.node.endpoint


@unittest.skipUnless(ctl.etcd_is_here(), "there is no etcd of this version")
class EtcdTest(SnapshotServer, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.endpoint = cls.enterClassContext(ctl.Etcd()).endpoint


if __name__ == "__main__":
    unittest.main()
