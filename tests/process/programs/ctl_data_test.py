"""kvorumctl export, import, diff, tree and du: against one node, a cluster of three, and the packaged etcd."""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402
import server  # noqa: E402
from cluster import Cluster  # noqa: E402

BINARY_KEYS = [b"\x00", b"\xff\xff\xff", b"a\nb", b"a/b", b"a/b/", b"\xc3\xbc"]


def fill(endpoint, pairs, lease=0):
    with grpc.insecure_channel(endpoint, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        stub = server.kv(channel)
        puts = [rpc_pb2.PutRequest(key=key, value=value, lease=lease) for key, value in pairs]
        # Few keys get a revision each; many small ones, which are all different, share some.
        together = 100 if len(puts) > 500 else 1
        for at in range(0, len(puts), together):
            stub.Txn(rpc_pb2.TxnRequest(success=[rpc_pb2.RequestOp(request_put=put) for put in puts[at:at + together]]),
                     timeout=30)


def read(endpoint):
    """{key: (value, version, lease)} of everything."""
    with grpc.insecure_channel(endpoint, options=[("grpc.use_local_subchannel_pool", 1),
                                                  ("grpc.max_receive_message_length", -1)]) as channel:
        answer = server.get(server.kv(channel), b"\0", range_end=b"\0")
        return {kv.key: (kv.value, kv.version, kv.lease) for kv in answer.kvs}


def grant(endpoint, ttl):
    with grpc.insecure_channel(endpoint, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        return rpc_pb2_grpc.LeaseStub(channel).LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=ttl), timeout=10).ID


def values(endpoint):
    return {key: row[0] for key, row in read(endpoint).items()}


class ExportImportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kvorum-ctl-")
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "export")

    def node(self, *flags):
        node = server.Server(*flags).start()
        self.addCleanup(node.close)
        return node.endpoint

    def export(self, endpoints, *arguments):
        text = ctl.succeed(endpoints, "export", *arguments)
        with open(self.file, "w", encoding="utf8") as file:
            file.write(text)
        return [json.loads(line) for line in text.splitlines()]

    def round_trip(self, source, target):
        pairs = [(key, key * 3) for key in BINARY_KEYS] + [(b"empty", b"")] + [
            (b"k/%05d" % n, os.urandom(50)) for n in range(2500)]
        fill(source if isinstance(source, str) else source[0], pairs)
        lines = self.export(source)
        self.assertEqual(lines[0]["keys"], len(pairs))
        self.assertEqual([base64.b64decode(line["key"]) for line in lines[1:-1]], sorted(key for key, _ in pairs))
        self.assertEqual(lines[-1], {"end": True, "keys": len(pairs)})
        done = ctl.run(target, "import", self.file)
        self.assertEqual(done.stdout, f"put {len(pairs)} keys: {len(pairs)} new, 0 with another value before\n"
                         "left alone 0 keys: 0 were there already, 0 have another value\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        other = target if isinstance(target, str) else target[0]
        self.assertEqual(values(other), dict(pairs))
        self.assertRegex(ctl.succeed(source, "diff", other), r"^no difference \(revisions \d+ and \d+\)\n$")
        # Another run finds everything, and puts nothing.
        again = ctl.succeed(target, "import", self.file, "-w", "json")
        self.assertEqual(json.loads(again), {"dry_run": False, "created": 0, "changed": 0, "equal": len(pairs), "kept": 0,
                                             "skipped": 0})
        self.assertEqual({row[1] for row in read(other).values()}, {1}, "each key was put once")

    def test_from_one_node_to_another(self):
        self.round_trip(self.node(), self.node())

    def test_from_a_cluster_to_a_node(self):
        with Cluster(3).start() as cluster:
            self.round_trip(cluster.endpoints, self.node())

    def test_to_the_packaged_etcd_and_back(self):
        if not ctl.etcd_is_here():
            self.skipTest("no packaged etcd here")
        with ctl.Etcd() as etcd:
            self.round_trip(self.node(), etcd.endpoint)
            self.export(etcd.endpoint)
            back = self.node()
            ctl.succeed(back, "import", self.file)
            self.assertEqual(ctl.run(etcd.endpoint, "diff", back).returncode, 0)

    def test_memory_does_not_grow_with_the_export(self):
        source = self.node()
        value = os.urandom(256 << 10)
        fill(source, [(b"%03d" % n, value) for n in range(400)])
        with open(self.file, "wb") as out:
            # Its own measure of its peak: time(1) is not everywhere.
            script = ("import os, resource, sys; pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:]); "
                      "code = os.waitpid(pid, 0)[1]; "
                      "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)")
            done = subprocess.run(["/usr/bin/python3", "-c", script, ctl.CTL, "--endpoints", source, "export"], stdout=out,
                                  stderr=subprocess.PIPE, timeout=120, check=True)
        code, peak_kib = done.stderr.split()
        self.assertEqual(code, b"0")
        self.assertGreater(os.path.getsize(self.file), 130 << 20)
        self.assertLess(int(peak_kib), 70 << 10)

    def test_an_export_is_of_one_revision(self):
        source = self.node()
        fill(source, [(b"a", b"1"), (b"b", b"1"), (b"a", b"2")])
        lines = self.export(source, "--rev", "3")
        self.assertEqual([base64.b64decode(line["value"]) for line in lines[1:-1]], [b"1", b"1"])
        self.assertEqual(lines[0]["revision"], 3)
        self.assertEqual(len(self.export(source, "b")), 3, "only the prefix")
        ctl.succeed(source, "compaction", "4")
        done = ctl.run(source, "export", "--rev", "3")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "Error: etcdserver: mvcc: required revision has been compacted\n")

    def test_an_import_that_is_killed_is_finished_by_the_next(self):
        source, target = self.node(), self.node()
        pairs = [(b"k%05d" % n, b"v" * 100) for n in range(5000)]
        fill(source, pairs)
        self.export(source)
        for least in (300, 1500):
            with subprocess.Popen([ctl.CTL, "--endpoints", target, "import", "--rate", "500", self.file]) as running:
                end = time.monotonic() + 60
                while len(values(target)) < least:
                    self.assertLess(time.monotonic(), end)
                    self.assertIsNone(running.poll())
                running.kill()
            self.assertLess(len(values(target)), len(pairs))
        ctl.succeed(target, "import", self.file)
        self.assertEqual({key: row[:2] for key, row in read(target).items()},
                         {key: (value, 1) for key, value in pairs})

    def test_an_import_survives_the_death_of_its_member(self):
        with Cluster(3).start() as cluster:
            source = self.node()
            pairs = [(b"k%05d" % n, b"v" * 100) for n in range(3000)]
            fill(source, pairs)
            self.export(source)
            with subprocess.Popen([ctl.CTL, "--endpoints", ",".join(cluster.endpoints), "import", "--rate", "600",
                                   self.file], stdout=subprocess.PIPE, text=True) as running:
                leader = cluster.leader()
                end = time.monotonic() + 60
                while len(values(leader.endpoint)) < 300:
                    self.assertLess(time.monotonic(), end)
                leader.kill()
                text, _ = running.communicate(timeout=120)
            self.assertEqual(running.returncode, 0, text)
            self.assertEqual({key: row[:2] for key, row in read(cluster.alive[0].endpoint).items()},
                             {key: (value, 1) for key, value in pairs})

    def test_other_values_are_refused_overwritten_or_kept(self):
        source, target = self.node(), self.node()
        fill(source, [(b"a", b"new"), (b"b", b"same"), (b"c", b"1")])
        self.export(source)
        fill(target, [(b"a", b"old"), (b"b", b"same"), (b"mine", b"1")])
        before = read(target)
        dry = json.loads(ctl.succeed(target, "import", "--dry-run", "-w", "json", self.file))
        self.assertEqual(dry, {"dry_run": True, "created": 1, "changed": 1, "equal": 1, "kept": 0, "skipped": 0})
        refused = ctl.run(target, "import", self.file)
        self.assertEqual(refused.returncode, 1)
        self.assertIn('Error: key "a" has another value (--existing=overwrite', refused.stderr)
        self.assertEqual(read(target), before, "neither changed anything")
        ctl.succeed(target, "import", "--existing", "keep", self.file)
        self.assertEqual(values(target), {b"a": b"old", b"b": b"same", b"c": b"1", b"mine": b"1"})
        ctl.succeed(target, "import", "--existing", "overwrite", self.file)
        self.assertEqual(values(target), {b"a": b"new", b"b": b"same", b"c": b"1", b"mine": b"1"})

    def test_keys_with_leases(self):
        source, target = self.node(), self.node()
        lease = grant(source, 600)
        fill(source, [(b"leased", b"1")], lease)
        fill(source, [(b"plain", b"1")])
        lines = self.export(source)
        self.assertEqual((lines[1]["lease"], lines[1]["ttl"]), (f"{lease:x}", 600))
        skipped = ctl.succeed(target, "import", self.file)
        self.assertIn("left out 1 keys with leases", skipped)
        self.assertEqual(list(values(target)), [b"plain"])
        ctl.succeed(target, "import", "--leased", "grant", self.file)
        self.assertEqual(read(target)[b"leased"], (b"1", 1, lease))
        self.assertIn("granted with TTL(600s)", ctl.succeed(target, "lease", "timetolive", f"{lease:x}"))
        ctl.succeed(target, "import", "--leased", "grant", self.file)
        self.assertEqual(read(target)[b"leased"], (b"1", 1, lease), "the second run changes nothing")
        third = self.node()
        ctl.succeed(third, "import", "--leased", "plain", self.file)
        self.assertEqual(read(third)[b"leased"], (b"1", 1, 0))

    def test_what_is_no_whole_export_is_refused(self):
        source, target = self.node(), self.node()
        fill(source, [(b"a", b"1"), (b"b", b"1")])
        self.export(source)
        with open(self.file, encoding="utf8") as file:
            whole = file.read()
        lines = whole.splitlines(keepends=True)
        for text, why in ((whole[:-1], "line 4: the export is cut off here"),
                          ("".join(lines[:-1]), "line 4: the export is cut off here"),
                          ("".join(lines[:2] + lines[3:]), "line 3: 1 keys are missing"),
                          ("".join(lines[1:]), "line 1: the export does not begin with its first line"),
                          (lines[0] + "{}\n", 'line 2: "key" is missing or wrong'),
                          ("", "line 1: the export is cut off here")):
            done = ctl.run(target, "import", "--dry-run", stdin=text)
            self.assertEqual((done.returncode, done.stderr), (3, f"Error: {why}\n"), text)
        self.assertEqual(values(target), {})

    def test_a_value_as_large_as_a_request_may_be(self):
        source, target = self.node(), self.node()
        fill(source, [(b"large", os.urandom(1_500_000)), (b"small", b"1")])
        self.export(source)
        ctl.succeed(target, "import", self.file)
        self.assertEqual(values(target), values(source))


class DiffTest(unittest.TestCase):
    def check_revisions(self, endpoint):
        fill(endpoint, [(b"changed", b"1"), (b"gone", b"1"), (b"same", b"1")])
        ctl.succeed(endpoint, "del", "gone")
        fill(endpoint, [(b"changed", b"2\n"), (b"new", b"")])
        done = ctl.run(endpoint, "diff", "--rev", "4", "--values")
        self.assertEqual(done.stdout, '~ changed\n  < "1"\n  > "2\\n"\n- gone\n  < "1"\n+ new\n  > ""\n'
                         "1 added, 1 removed, 1 changed (revisions 4 and 7)\n")
        self.assertEqual(done.returncode, 1)
        quiet = ctl.run(endpoint, "diff", "--rev", "4", "--other-rev", "5", "-q")
        self.assertEqual((quiet.returncode, quiet.stdout), (1, "0 added, 1 removed, 0 changed (revisions 4 and 5)\n"))
        lines = [json.loads(line) for line in ctl.run(endpoint, "diff", "--rev", "4", "-w", "json").stdout.splitlines()]
        self.assertEqual([line.get("change") for line in lines], ["changed", "removed", "added", None])
        self.assertEqual(lines[0], {"change": "changed", "key": "Y2hhbmdlZA==", "value": "MQ==", "other_value": "Mgo="})
        self.assertEqual(lines[3], {"added": 1, "removed": 1, "changed": 1, "revision": 4, "other_revision": 7})
        self.assertEqual(ctl.run(endpoint, "diff", "--rev", "4", "--prefix", "sa").returncode, 0)
        self.assertEqual(ctl.run(endpoint, "diff", "--rev", "99").returncode, 2, "no such revision")
        self.assertEqual(ctl.run(endpoint, "diff").returncode, 128)

    def test_two_revisions(self):
        with server.Server().start() as node:
            self.check_revisions(node.endpoint)

    def test_two_revisions_of_the_packaged_etcd(self):
        if not ctl.etcd_is_here():
            self.skipTest("no packaged etcd here")
        with ctl.Etcd() as etcd:
            self.check_revisions(etcd.endpoint)

    def test_a_side_that_is_not_there_is_trouble_and_no_difference(self):
        with server.Server().start() as node:
            done = ctl.run(node.endpoint, "diff", "127.0.0.1:1", "--command-timeout", "1s")
            self.assertEqual(done.returncode, 2)

    def test_many_keys(self):
        with server.Server().start() as node, server.Server().start() as other:
            fill(node.endpoint, [(b"%05d" % n, b"1") for n in range(3000)])
            fill(other.endpoint, [(b"%05d" % n, b"1") for n in range(3000) if n % 1000 != 999] + [(b"x", b"")])
            done = ctl.run(node.endpoint, "diff", other.endpoint)
            self.assertEqual(done.stdout.splitlines()[:-1], ["- 00999", "- 01999", "- 02999", "+ x"])


class TreeTest(unittest.TestCase):
    KEYS = ["/registry/pods/default/a", "/registry/pods/default/b", "/registry/pods/kube/a", "/registry/nodes/n1", "top"]

    def check(self, endpoints):
        fill(endpoints if isinstance(endpoints, str) else endpoints[0], [(key.encode(), b"12345") for key in self.KEYS])
        self.assertEqual(ctl.succeed(endpoints, "tree"), """/registry/
  nodes/
    n1
  pods/
    default/
      a
      b
    kube/
      a
top

5 folders, 5 keys
""")
        self.assertEqual(ctl.succeed(endpoints, "tree", "/registry/pods", "--depth", "3"), """/registry/
  pods/
    default/  (2)
    kube/  (1)

4 folders, 3 keys
""")
        lines = [json.loads(line) for line in ctl.succeed(endpoints, "tree", "--depth", "1", "-w", "json").splitlines()]
        self.assertEqual(lines, [{"level": 0, "name": "L3JlZ2lzdHJ5Lw==", "folder": True, "keys": 4},
                                 {"level": 0, "name": "dG9w", "folder": False}])
        self.assertEqual(ctl.succeed(endpoints, "du"), "107\t4\t/registry/\n8\t1\t(top)\n115\t5\ttotal\n")
        self.assertEqual(ctl.succeed(endpoints, "du", "/registry/", "--sort", "name"),
                         "23\t1\t/registry/nodes/\n84\t3\t/registry/pods/\n107\t4\ttotal\n")
        self.assertEqual(ctl.succeed(endpoints, "du", "--depth", "9", "--sort", "keys").splitlines()[0],
                         "58\t2\t/registry/pods/default/")
        self.assertEqual(json.loads(ctl.succeed(endpoints, "du", "-w", "json"))["prefixes"][1],
                         {"prefix": "", "keys": 1, "bytes": 8})
        self.assertRegex(ctl.succeed(endpoints, "du", "-w", "table"), re.compile("│ 107 B │ +4 │ /registry/ │"))

    def test_one_node(self):
        with server.Server().start() as node:
            self.check(node.endpoint)

    def test_a_cluster(self):
        with Cluster(3).start() as cluster:
            self.check(cluster.endpoints)

    def test_the_packaged_etcd(self):
        if not ctl.etcd_is_here():
            self.skipTest("no packaged etcd here")
        with ctl.Etcd() as etcd:
            self.check(etcd.endpoint)

    def test_nothing_and_a_revision(self):
        with server.Server().start() as node:
            self.assertEqual(ctl.succeed(node.endpoint, "tree"), "\n0 folders, 0 keys\n")
            self.assertEqual(ctl.succeed(node.endpoint, "du"), "0\t0\ttotal\n")
            fill(node.endpoint, [(b"a", b""), (b"b", b"")])
            self.assertEqual(ctl.succeed(node.endpoint, "tree", "--rev", "2"), "a\n\n0 folders, 1 keys\n")
            self.assertEqual(ctl.run(node.endpoint, "du", "--sort", "size").returncode, 4)


if __name__ == "__main__":
    unittest.main()
