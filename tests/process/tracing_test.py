"""Distributed tracing of a real process: calls with and without a trace of their caller's, and what a collector gets.
The same calls to an etcd 3.7, if $KVORUM_PEER_DIR has one, must leave the same spans.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import otlp
import ports
import server

ETCD = os.path.join(os.environ.get("KVORUM_PEER_DIR", ""), "etcd")
INTERNAL, SERVER = 1, 2
PROPOSED = [("Send raft proposal", {}), ("Receive raft result", {})]


def parent(number, flags="01"):
    """The metadata of a caller's trace; number tells the traces apart."""
    return [("traceparent", f"00-{number:032x}-{number:016x}-{flags}"), ("tracestate", "a=1, b=2")]


def flags_for(collector, rate=0):
    return ["--enable-distributed-tracing", "--distributed-tracing-address", f"127.0.0.1:{collector.port}",
            "--distributed-tracing-instance-id", "m1", "--distributed-tracing-sampling-rate", str(rate)]


# Flags go before it, and what cannot be read is passed over.
OTEL = {"OTEL_EXPORTER_OTLP_HEADERS": "Api-Key=a%20b, x=1=2,none,sp ace=1,bad=%zz", "OTEL_BSP_SCHEDULE_DELAY": "100",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "https://nowhere.invalid:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "5000",
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=other, zone=z%2C1,none", "OTEL_SERVICE_NAME": "third"}


def is_37():
    if not os.access(ETCD, os.X_OK):
        return False
    told = subprocess.run([ETCD, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    return "etcd Version: 3.7." in told


class Calls:
    """One call of each kind of span, each in a trace of its own."""

    def __init__(self, channel):
        self.channel = channel
        self.kv = rpc_pb2_grpc.KVStub(channel)
        self.lease = rpc_pb2_grpc.LeaseStub(channel)
        self.number = 0

    def call(self, method, request):
        self.number += 1
        try:
            return method(request, metadata=parent(self.number), timeout=30)
        except grpc.RpcError as error:
            return error.code()

    def keys(self):
        op = rpc_pb2.RequestOp
        put = rpc_pb2.PutRequest(key=b"k2", value=b"v", lease=5)
        read = rpc_pb2.RangeRequest(key=b"k1")
        compare = rpc_pb2.Compare(key=b"k1", target=0, version=1)
        self.call(self.kv.Put, rpc_pb2.PutRequest(key=b"k1", value=b"v"))
        self.call(self.kv.Put, rpc_pb2.PutRequest(value=b"no key"))
        self.call(self.kv.Put, rpc_pb2.PutRequest(key=b"large", value=b"x" * 1800000))
        self.call(self.kv.Put, put)
        self.call(self.kv.Range, rpc_pb2.RangeRequest(key=b"k", range_end=b"l", limit=5, keys_only=True))
        self.call(self.kv.Range, rpc_pb2.RangeRequest(key=b"k", revision=99))
        self.call(self.kv.DeleteRange, rpc_pb2.DeleteRangeRequest(key=b"x", range_end=b"\0"))
        self.call(self.lease.LeaseGrant, rpc_pb2.LeaseGrantRequest(TTL=60, ID=5))
        self.call(self.kv.Txn, rpc_pb2.TxnRequest(compare=[compare], success=[op(request_put=put)],
                                                  failure=[op(request_range=read), op(request_range=read)]))
        self.call(self.kv.Txn, rpc_pb2.TxnRequest(success=[op(request_range=read)]))
        self.call(self.kv.Compact, rpc_pb2.CompactionRequest(revision=2, physical=True))

    def others(self):
        self.call(self.lease.LeaseTimeToLive, rpc_pb2.LeaseTimeToLiveRequest(ID=5))
        self.number += 1
        renewals = iter([rpc_pb2.LeaseKeepAliveRequest(ID=5), rpc_pb2.LeaseKeepAliveRequest(ID=6)])
        list(self.lease.LeaseKeepAlive(renewals, metadata=parent(self.number), timeout=30))
        self.call(self.lease.LeaseRevoke, rpc_pb2.LeaseRevokeRequest(ID=5))
        self.call(self.lease.LeaseRevoke, rpc_pb2.LeaseRevokeRequest(ID=5))
        self.call(rpc_pb2_grpc.MaintenanceStub(self.channel).Status, rpc_pb2.StatusRequest())
        self.call(rpc_pb2_grpc.AuthStub(self.channel).AuthEnable, rpc_pb2.AuthEnableRequest())
        unknown = self.channel.unary_unary("/etcdserverpb.KV/Nope", request_serializer=lambda of: of,
                                           response_deserializer=lambda of: of)
        self.call(unknown, b"")

    def watches(self):
        self.number += 1
        create = rpc_pb2.WatchCreateRequest
        requests = [rpc_pb2.WatchRequest(create_request=create(key=b"w", range_end=b"x", prev_kv=True)),
                    rpc_pb2.WatchRequest(create_request=create(key=b"w", range_end=b"a")),
                    rpc_pb2.WatchRequest(cancel_request=rpc_pb2.WatchCancelRequest(watch_id=0))]
        stream = rpc_pb2_grpc.WatchStub(self.channel).Watch(iter(requests), metadata=parent(self.number), timeout=30)
        for _ in requests:
            next(stream)
        stream.cancel()

    def all(self):
        self.keys()
        self.others()
        self.watches()


def tell(spans):
    """What two servers must agree on, in an order of its own: ports and ids of spans are named by what they are."""
    names = {span.span_id: span.name for span in spans}
    told = []
    for span in spans:
        attributes = {key: value for key, value in span.attributes.items() if key != "server.port"}
        told.append((span.trace_id, names.get(span.parent_id, span.parent_id), span.name, span.kind,
                     sorted(attributes.items()), span.events, span.status, span.trace_state, span.flags, span.scope,
                     sorted(span.resource.items())))
    return sorted(told, key=repr)


class TracingTest(unittest.TestCase):
    def collect(self, *answers, port=None):
        collector = otlp.Collector(*answers, port=port)
        self.addCleanup(collector.close)
        return collector

    def start(self, *flags, **environment):
        served = server.Server(*flags)
        served.environment.update(environment)
        self.addCleanup(served.close)
        return served.start()

    def spans_of(self, collector, served):
        """All there are: stopping sends the last ones."""
        self.assertEqual(served.stop(timeout=60)[0], 0)
        return collector.wait(lambda spans: True)

    def metric(self, served, name):
        with urllib.request.urlopen(f"http://{served.endpoint}/metrics", timeout=30) as page:
            lines = page.read().decode().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith(name + " ")))

    def test_a_callers_trace_goes_on(self):
        collector = self.collect()
        served = self.start(*flags_for(collector))
        with served.channel() as channel:
            kv = server.kv(channel)
            put = rpc_pb2.PutRequest(key=b"k", value=b"v")
            kv.Put(put, metadata=parent(7), timeout=30)
            kv.Put(put, metadata=parent(8, flags="00"), timeout=30)
            kv.Put(put, metadata=[("traceparent", "nonsense")], timeout=30)
            kv.Put(put, timeout=30)
        spans = self.spans_of(collector, served)
        self.assertEqual(sorted(span.name for span in spans), ["etcdserverpb.KV/Put", "put"], spans)
        inner, call = sorted(spans, key=lambda span: span.kind)
        self.assertEqual({call.trace_id, inner.trace_id}, {f"{7:032x}"})
        self.assertEqual((call.parent_id, inner.parent_id), (f"{7:016x}", call.span_id))
        self.assertEqual(call.attributes, {
            "rpc.method": "etcdserverpb.KV/Put", "rpc.system.name": "grpc", "rpc.response.status_code": "OK",
            "server.address": "127.0.0.1", "server.port": served.port})
        self.assertEqual((inner.attributes, inner.events), ({"key": "k"}, PROPOSED))
        self.assertEqual((call.kind, inner.kind, call.flags, inner.flags), (SERVER, INTERNAL, 0x301, 0x101))
        self.assertEqual((call.trace_state, inner.trace_state), ("a=1,b=2", "a=1,b=2"))
        self.assertEqual(call.resource, {"service.name": "etcd", "service.instance.id": "m1"})
        self.assertLessEqual(call.raw.start, inner.raw.start)
        self.assertLessEqual(inner.raw.end, call.raw.end)
        self.assertLess(abs(call.raw.start / 1e9 - time.time()), 300)

    def test_traces_begin_here_if_they_are_sampled(self):
        collector = self.collect()
        served = self.start(*flags_for(collector, rate=1000000), "--distributed-tracing-service-name", "store")
        with served.channel() as channel:
            server.put(server.kv(channel), b"k", b"v")
            server.kv(channel).Put(rpc_pb2.PutRequest(key=b"other"), metadata=parent(8, flags="00"), timeout=30)
        # No need to stop: they are sent after five seconds.
        spans = collector.wait(lambda spans: len(spans) >= 2)
        roots = [span for span in spans if not span.parent_id]
        self.assertEqual([span.name for span in roots], ["etcdserverpb.KV/Put"], spans)
        self.assertEqual(len(spans), 2, "a caller that does not record decides for its trace")
        self.assertEqual(roots[0].flags, 0x101)
        self.assertEqual(roots[0].resource["service.name"], "store")

    def test_every_kind_of_call(self):
        collector = self.collect()
        served = self.start(*flags_for(collector))
        with served.channel() as channel:
            Calls(channel).all()
        spans = self.spans_of(collector, served)
        inner = sorted(span.name for span in spans if span.kind == INTERNAL)
        self.assertEqual(inner, sorted(
            ["put"] * 3 + ["range"] * 2 + ["delete_range", "lease_grant"] + ["txn"] * 2 + ["compact"] +
            ["lease_renew"] * 2 + ["lease_revoke"] * 2 + ["watch"]))
        of_trace = {}
        for span in spans:
            of_trace.setdefault(int(span.trace_id, 16), {})[span.name] = span
        self.assertEqual(of_trace[2]["etcdserverpb.KV/Put"].attributes["rpc.response.status_code"],
                         "INVALID_ARGUMENT")
        self.assertEqual([name for name, _ in of_trace[3]["put"].events], ["exception"])
        self.assertEqual(of_trace[9]["txn"].attributes, {
            "compare_first_key": "k1", "success_first_key": "k2", "success_first_type": "put",
            "success_first_lease": 5, "compare_len": 1, "success_len": 1, "failure_len": 2, "read_only": False})
        self.assertEqual(of_trace[10]["txn"].events, [])

    @unittest.skipUnless(is_37(), "no etcd 3.7 to compare with")
    def test_etcd_leaves_the_same_spans(self):
        collector = self.collect()
        served = self.start(*flags_for(collector))
        with served.channel() as channel:
            Calls(channel).all()
        ours = tell(self.spans_of(collector, served))
        self.assertEqual(ours, tell(self.spans_of_etcd(self.collect())))

    def test_the_environment_of_opentelemetrys_sdk_counts(self):
        collector = self.collect()
        served = server.Server(*flags_for(collector))
        self.addCleanup(served.close)
        served.environment |= OTEL
        served.start("--warning-unary-request-duration=1ns")
        with served.channel() as channel:
            server.kv(channel).Range(rpc_pb2.RangeRequest(key=b"k"), metadata=parent(7), timeout=30)
        # Long before the five seconds that are the default.
        self.check_environment(collector, collector.wait(lambda spans: len(spans) == 2, timeout=4))
        self.assertEqual(served.stop()[0], 0)
        # A sampled call has its lines like any other.
        self.assertIn(b'"response count":0,', served.log())

    @unittest.skipUnless(is_37(), "no etcd 3.7 to compare with")
    def test_etcd_heeds_the_same_environment(self):
        collector = self.collect()
        self.check_environment(collector, self.spans_of_etcd(collector, OTEL))

    def check_environment(self, collector, spans):
        self.assertEqual((collector.metadata["api-key"], collector.metadata["x"]), ("a b", "1=2"))
        self.assertNotIn("sp ace", collector.metadata)
        self.assertEqual(spans[0].resource, {"service.name": "etcd", "service.instance.id": "m1", "zone": "z,1"})

    def spans_of_etcd(self, collector, environment=None):
        folder = tempfile.mkdtemp(prefix="kvorum-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        client, peer = (f"http://127.0.0.1:{ports.free_port()}" for _ in range(2))
        with open(os.path.join(folder, "log"), "wb") as log:
            etcd = subprocess.Popen(
                [*server.ENDS_WITH_US, ETCD, "--data-dir", os.path.join(folder, "data"), "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", f"default={peer}", *flags_for(collector)], stdout=log, stderr=log,
                env={**os.environ, **(environment or {})})
        try:
            with grpc.insecure_channel(client.removeprefix("http://")) as channel:
                grpc.channel_ready_future(channel).result(timeout=60)
                rpc_pb2_grpc.KVStub(channel).Range(rpc_pb2.RangeRequest(key=b"k"), timeout=60)
                Calls(channel).all()
        finally:
            etcd.terminate()
            etcd.wait(timeout=60)
        return collector.wait(lambda spans: True)

    def test_a_collector_that_is_busy_is_asked_again(self):
        collector = self.collect(grpc.StatusCode.UNAVAILABLE)
        served = self.start(*flags_for(collector), OTEL_BSP_SCHEDULE_DELAY="600000")
        with served.channel() as channel:
            kv = server.kv(channel)
            # A full batch is sent at once; the other attempt comes after 2.5 to 7.5 seconds.
            for _ in range(256):
                kv.Range(rpc_pb2.RangeRequest(key=b"k"), metadata=parent(7), timeout=30)
        spans = collector.wait(lambda spans: len(spans) == 512)
        self.assertEqual({span.name for span in spans}, {"range", "etcdserverpb.KV/Range"})
        self.assertEqual(collector.exports, 2)
        self.assertEqual(self.metric(served, "kvorum_trace_spans_dropped_total"), 0)

    def test_without_a_collector_calls_go_on_and_spans_are_dropped(self):
        # Bound and not listening: the port stays nobody else's.
        with socket.socket() as reserved:
            reserved.bind(("127.0.0.1", 0))
            served = self.start("--enable-distributed-tracing", "--distributed-tracing-address",
                                f"127.0.0.1:{reserved.getsockname()[1]}")
            with served.channel() as channel:
                kv = server.kv(channel)
                for _ in range(1200):
                    kv.Range(rpc_pb2.RangeRequest(key=b"k"), metadata=parent(7), timeout=30)
            waiting = self.metric(served, "kvorum_trace_spans_waiting")
            dropped = self.metric(served, "kvorum_trace_spans_dropped_total")
            self.assertLessEqual(waiting, 2048)
            self.assertGreater(dropped, 0)
            self.assertEqual(served.stop(timeout=60)[0], 0)
            self.assertIn(b"spans could not be exported", served.log())

    def test_nothing_is_sent_unless_asked_for(self):
        collector = self.collect()
        served = self.start("--distributed-tracing-address", f"127.0.0.1:{collector.port}",
                            "--distributed-tracing-sampling-rate", "1000000")
        with served.channel() as channel:
            server.kv(channel).Put(rpc_pb2.PutRequest(key=b"k"), metadata=parent(7), timeout=30)
        self.assertEqual(self.spans_of(collector, served), [])
        self.assertEqual(collector.exports, 0)


if __name__ == "__main__":
    unittest.main()
