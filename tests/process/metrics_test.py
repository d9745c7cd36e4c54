#!/usr/bin/env python3
"""/metrics, /livez, /readyz and /debug/vars of real servers, beside the table of etcd 3.7.3 and the packaged etcd."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

import cluster
import ports
import server

TABLE = pathlib.Path(__file__).parent.parent / "server" / "metrics_of_api_level.txt"
ETCD = os.path.join(os.environ["KVORUM_PEER_DIR"], "etcd")


def fetch(port, path, **headers):
    """(status, headers, body) of a GET."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


class Family:
    def __init__(self, kind):
        self.kind = kind
        self.labels = set()
        self.bounds = []
        self.samples = {}  # by the text before the value


def parse(text):
    """The families of Prometheus' text by name; fails for anything that is not this format."""
    families = {}
    name = None
    for line in text.splitlines():
        if help_line := re.fullmatch(r"# HELP (\w+) .+", line):
            name = help_line[1]
            assert name not in families, name
            continue
        if type_line := re.fullmatch(r"# TYPE (\w+) (counter|gauge|histogram|summary)", line):
            assert type_line[1] == name, line
            families[name] = Family(type_line[2])
            continue
        sample = re.fullmatch(r"(\w+?)(?:\{(.*)\})? (\S+)", line)
        assert sample, line
        family = families[name]
        suffixes = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}
        assert sample[1] in [name + suffix for suffix in suffixes.get(family.kind, ("",))], line
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or ""))
        bound = labels.pop("le", None)
        labels.pop("quantile", None)
        family.labels |= set(labels)
        if bound not in (None, "+Inf", *family.bounds):
            family.bounds.append(bound)
        family.samples[line.rsplit(" ", 1)[0]] = float(sample[3])
    assert list(families) == sorted(families)
    return families


def table():
    """name -> (type, labels, bounds) of etcd 3.7.3."""
    rows = {}
    for line in TABLE.read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            name, kind, labels, *bounds = line.split(" ")
            rows[name] = (kind, set() if labels == "-" else set(labels.split(",")), bounds)
    return rows


class MetricsTest(unittest.TestCase):
    def start(self, *flags):
        member = server.Server(*flags)
        self.addCleanup(member.close)
        return member.start()

    def scrape(self, port):
        status, headers, body = fetch(port, "/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
        return parse(body.decode())

    def use(self, member):
        """A call of many kinds."""
        with member.channel() as channel:
            stub = server.kv(channel)
            for i in range(10):
                server.put(stub, b"k%d" % i, b"v")
            server.get(stub, b"k1")
            server.get(stub, b"k1", serializable=True)

    def test_every_series_has_the_form_of_the_api_level(self):
        member = self.start("--metrics=extensive")
        self.use(member)
        families = self.scrape(member.port)
        known = table()
        for name, family in families.items():
            if name.startswith("kvorum_") or name == "grpc_server_handling_seconds":
                continue
            kind, labels, bounds = known[name]
            self.assertEqual(family.kind, kind, name)
            self.assertEqual(family.labels, labels, name)
            self.assertEqual(family.bounds, bounds, name)
        self.assertEqual(families["grpc_server_handling_seconds"].bounds,
                         ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10"])
        # Those without labels, and those of the server itself, are there from the start.
        missing = {name for name, (_, labels, _) in known.items() if not labels} - set(families)
        self.assertEqual(missing, set())

    def test_the_numbers_are_those_of_what_was_done(self):
        member = self.start()
        self.use(member)
        applied = 'etcd_server_apply_duration_seconds_count{op="Put",success="true",version="v3"}'
        range_ended = ('grpc_server_handled_total{grpc_code="OK",grpc_method="Range",'
                       'grpc_service="etcdserverpb.KV",grpc_type="unary"}')
        # Times are observed, and calls end, a moment after the answer has gone.
        end = time.monotonic() + 20
        while True:
            families = self.scrape(member.port)
            times = families["etcd_server_apply_duration_seconds"].samples.get(applied)
            if times == 10 and families["grpc_server_handled_total"].samples[range_ended] == 2:
                break
            self.assertLess(time.monotonic(), end)

        def value(name, series=""):
            return families[name].samples[name + series]

        self.assertEqual(value("etcd_mvcc_put_total"), 10)
        self.assertEqual(value("etcd_mvcc_range_total"), 2)
        self.assertEqual(value("etcd_debugging_mvcc_keys_total"), 10)
        self.assertEqual(value("etcd_debugging_mvcc_current_revision"), 11)
        self.assertEqual(value("etcd_debugging_mvcc_total_put_size_in_bytes"), 30)
        self.assertEqual(value("etcd_server_has_leader"), 1)
        self.assertEqual(value("etcd_server_is_leader"), 1)
        self.assertEqual(value("etcd_server_is_learner"), 0)
        self.assertEqual(value("etcd_server_leader_changes_seen_total"), 1)
        self.assertEqual(value("etcd_server_proposals_pending"), 0)
        self.assertGreaterEqual(value("etcd_server_proposals_committed_total"), 10)
        self.assertEqual(value("etcd_server_quota_backend_bytes"), 2 << 30)
        self.assertEqual(value("etcd_server_version", '{server_version="3.7.3"}'), 1)
        self.assertGreater(value("etcd_disk_wal_fsync_duration_seconds", "_count"), 0)
        self.assertGreater(value("etcd_disk_wal_write_bytes_total"), 0)
        self.assertGreater(value("etcd_mvcc_db_total_size_in_bytes"), 0)
        self.assertGreater(value("process_resident_memory_bytes"), 1 << 20)
        self.assertGreater(value("process_open_fds"), 5)
        self.assertLess(abs(value("process_start_time_seconds") - time.time()), 60)
        put = '{grpc_method="Put",grpc_service="etcdserverpb.KV",grpc_type="unary"}'
        self.assertEqual(value("grpc_server_started_total", put), 10)
        self.assertEqual(value("grpc_server_msg_received_total", put), 10)
        self.assertEqual(value("grpc_server_handled_total", '{grpc_code="OK",' + put[1:]), 10)
        self.assertEqual(value("grpc_server_handled_total", '{grpc_code="Aborted",' + put[1:]), 0)
        self.assertEqual(value("etcd_server_request_duration_seconds", '_count{success="true",type="Put"}'), 10)
        self.assertEqual(
            value("etcd_server_apply_duration_seconds", '_count{op="Put",success="true",version="v3"}'), 10)
        self.assertEqual(value("etcd_server_range_duration_seconds", '_count{success="true"}'), 2)
        self.assertNotIn("grpc_server_handling_seconds", families)

    def test_a_running_watch_counts_and_shows_its_lag(self):
        member = self.start()
        with member.channel() as channel:
            stub = server.kv(channel)
            ended = threading.Event()
            create = rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(key=b"a"))

            def requests():
                yield create
                ended.wait(60)
            answers = rpc_pb2_grpc.WatchStub(channel).Watch(requests())
            self.assertTrue(next(answers).created)
            for _ in range(3):
                server.put(stub, b"a", b"v")
                self.assertEqual(len(next(answers).events), 1)
            families = self.scrape(member.port)
            watch = '{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"}'
            for name, count in (("grpc_server_started_total", 1), ("grpc_server_msg_received_total", 1),
                                ("grpc_server_msg_sent_total", 4)):
                self.assertEqual(families[name].samples[name + watch], count, name)
            lag = families["kvorum_watch_lag_revisions"].samples
            self.assertEqual(lag, {f'kvorum_watch_lag_revisions{{watchers="{kind}"}}': 0
                                   for kind in ("synced", "unsynced", "awaited")})
            used = families["kvorum_queue_used"].samples
            limits = families["kvorum_queue_limit"].samples
            self.assertEqual([name.replace("_used", "_limit") for name in used], list(limits))
            for name, depth in used.items():
                self.assertLess(depth, limits[name.replace("_used", "_limit")], name)
            for name in ('queue="log",unit="bytes"', 'queue="peer_connections",unit="connections"'):
                self.assertIn(f"kvorum_queue_used{{{name}}}", used)
            self.assertGreater(used['kvorum_queue_used{queue="log",unit="bytes"}'], 0)
            self.assertEqual(used['kvorum_queue_used{queue="scrapes",unit="requests"}'], 1)
            ended.set()

    def test_it_is_compressed_if_asked(self):
        member = self.start()
        _, headers, body = fetch(member.port, "/metrics", **{"Accept-Encoding": "gzip"})
        self.assertEqual(headers["Content-Encoding"], "gzip")
        self.assertIn("etcd_server_has_leader", parse(gzip.decompress(body).decode()))

    def test_a_port_of_its_own_serves_metrics_and_probes_only(self):
        port = ports.free_port()
        member = self.start("--listen-metrics-urls", f"http://127.0.0.1:{port}")
        self.assertIn("etcd_server_has_leader", self.scrape(port))
        for path in ("/health", "/livez", "/readyz", "/readyz/linearizable_read"):
            self.assertEqual(fetch(port, path)[0], 200, path)
        for path in ("/version", "/debug/vars", "/v3/kv/range", "/metrics/", "/livez/nothing"):
            status, headers, body = fetch(port, path)
            self.assertEqual((status, body), (404, b"404 page not found\n"), path)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(fetch(member.port, "/readyz?verbose")[2].decode(),
                         "[+]data_corruption ok\n[+]serializable_read ok\n[+]linearizable_read ok\n"
                         "[+]non_learner ok\nok\n")
        self.assertEqual(member.stop()[0], 0)

    def test_https_for_metrics_needs_a_certificate(self):
        member = server.Server()
        self.addCleanup(member.close)
        code, said = member.refuse("--listen-metrics-urls", f"https://127.0.0.1:{ports.free_port()}")
        self.assertEqual(code, 1)
        self.assertIn("must be provided for metrics secure url", said)

    def test_debug_vars(self):
        member = self.start()
        status, headers, body = fetch(member.port, "/debug/vars")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json; charset=utf-8"))
        variables = json.loads(body)
        self.assertEqual(list(variables), ["cmdline", "file_descriptor_limit", "memstats", "raft.status"])
        self.assertEqual(variables["cmdline"][0], server.BINARY)
        self.assertEqual(variables["raft.status"]["raftState"], "StateLeader")
        self.assertGreater(variables["memstats"]["HeapAlloc"], 0)

    def test_names_types_and_buckets_are_those_of_the_packaged_etcd(self):
        """An older one: what it has and 3.7.3 has too is equal in both."""
        if not os.path.exists(ETCD):
            self.skipTest("no packaged etcd here")
        member = self.start()
        self.use(member)
        ours = self.scrape(member.port)
        folder = tempfile.TemporaryDirectory(prefix="kvorum-test-")
        self.addCleanup(folder.cleanup)
        client, peer = ports.free_ports(2)
        etcd = subprocess.Popen(
            [ETCD, "--data-dir", folder.name, "--listen-client-urls", f"http://127.0.0.1:{client}",
             "--advertise-client-urls", f"http://127.0.0.1:{client}", "--listen-peer-urls",
             f"http://127.0.0.1:{peer}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (etcd.kill(), etcd.wait()))
        end = time.monotonic() + 30
        while True:
            try:
                theirs = parse(fetch(client, "/metrics")[2].decode())
                break
            except OSError:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
        compared = 0
        for name, family in theirs.items():
            if name not in ours or name not in table():
                continue
            compared += 1
            self.assertEqual(ours[name].kind, family.kind, name)
            if family.samples and ours[name].samples and family.labels:
                self.assertEqual(ours[name].labels, family.labels, name)
            self.assertEqual(ours[name].bounds, family.bounds, name)
        self.assertGreater(compared, 90)

    def test_three_members_count_each_other(self):
        with cluster.Cluster(3) as three:
            three.start()
            three.leader()
            counted = ("etcd_network_active_peers", "etcd_network_peer_sent_bytes_total",
                       "etcd_network_peer_received_bytes_total", "etcd_network_peer_round_trip_time_seconds")
            end = time.monotonic() + 30
            while True:
                families = self.scrape(three.members[0].client_port)
                samples = [families[name].samples for name in counted if name in families]
                if len(samples) == len(counted) and all(
                        len(of_peers) >= 2 and min(of_peers.values()) > 0 for of_peers in samples[:3]):
                    break
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
            self.assertEqual(len(families["etcd_network_known_peers"].samples), 3)
            self.assertEqual([len(of_peers) for of_peers in samples[:3]], [2, 2, 2])


if __name__ == "__main__":
    unittest.main()
