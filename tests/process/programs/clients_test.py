"""Other people's clients, unmodified: the Python and Node libraries, etcdctl, curl."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import etcd3

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import server  # noqa: E402

PEER = os.environ["KVORUM_PEER_DIR"]
NODE_MODULES = os.environ["KVORUM_NODE_DIR"]
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class ClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.member = server.Server()
        cls.addClassCleanup(cls.member.close)
        cls.member.start()

    def setUp(self):
        with self.member.channel() as channel:
            server.kv(channel).DeleteRange(
                server.rpc_pb2.DeleteRangeRequest(key=b"\0", range_end=b"\0"), timeout=10)

    def etcdctl(self, *arguments, stdin=None, check=True):
        done = subprocess.run(
            [os.path.join(PEER, "etcdctl"), "--endpoints", self.member.endpoint, *arguments],
            input=stdin, capture_output=True, text=True, timeout=30, check=False,
            env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"})
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        return done

    def curl(self, path, *arguments):
        done = subprocess.run(
            ["curl", "-sS", "-w", "\n%{http_code} %{content_type}",
             f"http://{self.member.endpoint}{path}", *arguments],
            capture_output=True, text=True, timeout=30, check=True)
        body, _, status = done.stdout.rpartition("\n")
        code, _, kind = status.partition(" ")
        return int(code), kind, body


class PythonClientTest(ClientsTest):
    def setUp(self):
        super().setUp()
        host, port = self.member.endpoint.split(":")
        self.client = etcd3.client(host=host, port=int(port), timeout=10)
        self.addCleanup(self.client.close)

    def test_keys(self):
        self.assertEqual(self.client.get("no such key"), (None, None))
        self.client.put("a/1", "one")
        self.client.put("a/2", "two")
        self.client.put("b", b"\x00\xff")
        value, meta = self.client.get("a/1")
        self.assertEqual((value, meta.key, meta.version), (b"one", b"a/1", 1))
        self.assertEqual(meta.create_revision, meta.mod_revision)
        self.assertEqual(self.client.get("b")[0], b"\x00\xff")
        self.assertEqual([value for value, _ in self.client.get_prefix("a/")], [b"one", b"two"])
        descending = self.client.get_prefix("a/", sort_order="descend", sort_target="key")
        self.assertEqual([value for value, _ in descending], [b"two", b"one"])
        self.assertEqual([meta.key for _, meta in self.client.get_range("a/2", "c")], [b"a/2", b"b"])
        self.assertEqual(len(list(self.client.get_all())), 3)
        answer = self.client.put("a/1", "uno", prev_kv=True)
        self.assertEqual(answer.prev_kv.value, b"one")
        self.assertTrue(self.client.delete("b"))
        self.assertFalse(self.client.delete("b"))
        self.assertEqual(self.client.delete_prefix("a/").deleted, 2)

    def test_transactions(self):
        self.assertTrue(self.client.put_if_not_exists("key", "first"))
        self.assertFalse(self.client.put_if_not_exists("key", "second"))
        self.assertTrue(self.client.replace("key", "first", "third"))
        self.assertFalse(self.client.replace("key", "first", "fourth"))
        go = self.client.transactions
        succeeded, answers = self.client.transaction(
            compare=[go.value("key") == "third", go.version("key") > 1, go.create("none") == 0],
            success=[go.put("new", "1"), go.get("key"), go.delete("key"),
                     go.txn(compare=[], success=[go.get("new")], failure=[])],
            failure=[go.put("new", "2")])
        self.assertTrue(succeeded)
        self.assertEqual(answers[1][0][0], b"third")
        self.assertEqual(self.client.get("key"), (None, None))
        self.assertEqual(self.client.get("new")[0], b"1")

    def test_compaction(self):
        first = self.client.put("key", "1").header.revision
        second = self.client.put("key", "2").header.revision
        self.client.compact(second, physical=True)
        with self.assertRaisesRegex(Exception, "required revision has been compacted"):
            self.client.compact(first)

    def test_maintenance(self):
        status = self.client.status()
        self.assertEqual(status.version, "3.7.3")
        self.assertEqual(status.leader.client_urls, [f"http://{self.member.endpoint}"])
        self.assertGreater(status.db_size, 0)
        self.assertEqual([member.name for member in self.client.members], ["default"])
        self.assertIsInstance(self.client.hash(), int)
        self.client.defragment()
        self.assertEqual(list(self.client.list_alarms()), [])
        raised = self.client.create_alarm()
        self.assertEqual(len(raised), 1)
        with self.assertRaisesRegex(Exception, "database space exceeded"):
            self.client.put("key", "value")
        self.assertEqual(len(list(self.client.list_alarms())), 1)
        self.client.disarm_alarm()
        self.client.put("key", "value")

    def test_leases(self):
        lease = self.client.lease(60)
        self.client.put("key", "value", lease=lease)
        self.assertEqual([answer.TTL for answer in lease.refresh()], [60])
        self.assertEqual(lease.keys, [b"key"])
        lease.revoke()
        self.assertEqual(self.client.get("key"), (None, None))
        chosen = self.client.lease(60, lease_id=7)
        self.assertEqual(chosen.id, 7)
        with self.assertRaises(etcd3.exceptions.PreconditionFailedError) as caught:
            self.client.lease(60, lease_id=7)
        self.assertIn("etcdserver: lease already exists", str(caught.exception.__context__))
        chosen.revoke()

    def test_a_snapshot(self):
        self.client.put("key", "value")
        with tempfile.TemporaryFile() as file:
            self.client.snapshot(file)
            file.seek(0)
            content = file.read()
        self.assertEqual(hashlib.sha256(content[:-32]).digest(), content[-32:])


class NodeClientTest(ClientsTest):
    def test_the_node_client(self):
        done = subprocess.run(
            ["node", os.path.join(HERE, "node_client.js"), f"http://{self.member.endpoint}"],
            capture_output=True, text=True, timeout=60, check=False,
            env={"PATH": os.environ["PATH"], "NODE_PATH": NODE_MODULES})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "all is well\n")


class EtcdctlTest(ClientsTest):
    def test_keys(self):
        self.assertEqual(self.etcdctl("put", "key", "value"), "OK\n")
        self.assertEqual(self.etcdctl("get", "key"), "key\nvalue\n")
        self.assertEqual(self.etcdctl("put", "--prev-kv", "key", "other"), "OK\nkey\nvalue\n")
        self.assertEqual(self.etcdctl("put", "kez", stdin="from stdin"), "OK\n")
        self.assertEqual(self.etcdctl("get", "--prefix", "ke", "--keys-only"), "key\n\nkez\n\n")
        self.assertEqual(
            self.etcdctl("get", "--from-key", "", "--order", "DESCEND", "--print-value-only"),
            "from stdin\nother\n")
        self.assertEqual(
            self.etcdctl("get", "--prefix", "", "--limit", "1", "--sort-by", "MODIFY"), "key\nother\n")
        self.assertEqual(self.etcdctl("get", "--consistency", "s", "key"), "key\nother\n")
        self.assertEqual(self.etcdctl("del", "--prefix", "ke"), "2\n")

    def test_a_transaction(self):
        self.etcdctl("put", "key", "1")
        self.assertEqual(
            self.etcdctl("txn", stdin='value("key") = "1"\n\nput key 2\nget key\n\nget none\n\n'),
            "SUCCESS\n\nOK\n\nkey\n2\n")
        self.assertEqual(
            self.etcdctl("txn", stdin='version("key") > "7"\n\nput key 3\n\ndel key\n\n'),
            "FAILURE\n\n1\n")

    def test_compaction(self):
        answer = json.loads(self.etcdctl("put", "key", "1", "-w", "json"))
        revision = answer["header"]["revision"]
        self.etcdctl("put", "key", "2")
        self.assertEqual(self.etcdctl("get", "key", "--rev", str(revision)), "key\n1\n")
        self.assertEqual(
            self.etcdctl("compact", str(revision + 1), "--physical"),
            f"compacted revision {revision + 1}\n")
        refused = self.etcdctl("get", "key", "--rev", str(revision), check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("etcdserver: mvcc: required revision has been compacted", refused.stderr)

    def test_the_member(self):
        self.assertIn("is healthy: successfully committed proposal", "".join(
            self.etcdctl("endpoint", "health", "-w", "simple") or
            self.etcdctl("endpoint", "health", check=False).stderr))
        status = json.loads(self.etcdctl("endpoint", "status", "-w", "json"))[0]["Status"]
        self.assertEqual(status["version"], "3.7.3")
        self.assertEqual(status["leader"], status["header"]["member_id"])
        members = json.loads(self.etcdctl("member", "list", "-w", "json"))["members"]
        self.assertEqual([member["name"] for member in members], ["default"])
        self.assertEqual(members[0]["ID"], status["header"]["member_id"])
        hashes = json.loads(self.etcdctl("endpoint", "hashkv", "-w", "json"))
        self.assertGreater(hashes[0]["HashKV"]["hash"], 0)
        self.assertIn("Finished defragmenting", self.etcdctl("defrag"))
        self.assertEqual(self.etcdctl("alarm", "list"), "")

    def test_a_request_that_is_too_large(self):
        refused = self.etcdctl("put", "key", stdin="v" * 1_600_000, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("etcdserver: request is too large", refused.stderr)


class CurlTest(ClientsTest):
    def test_health_and_version(self):
        code, kind, body = self.curl("/health")
        self.assertEqual((code, json.loads(body)), (200, {"health": "true", "reason": ""}))
        self.assertEqual(kind, "text/plain; charset=utf-8")
        code, kind, body = self.curl("/version")
        self.assertEqual((code, kind), (200, "application/json"))
        self.assertEqual(
            json.loads(body),
            {"etcdserver": "3.7.3", "etcdcluster": "3.7.0", "storage": "3.7.0"})

    def test_other_paths_and_methods(self):
        self.assertEqual(self.curl("/no/such/path")[0], 404)
        self.assertEqual(self.curl("/health", "-X", "POST")[0], 405)
        self.assertEqual(self.curl("/version", "-X", "DELETE")[0], 405)

    def test_http_1_0_and_a_connection_used_twice(self):
        code, _, body = self.curl("/health", "--http1.0")
        self.assertEqual((code, json.loads(body)["health"]), (200, "true"))
        url = f"http://{self.member.endpoint}/version"
        done = subprocess.run(
            ["curl", "-sS", "-w", "%{num_connects}\n", "-o", os.devnull, url, "-o", os.devnull, url],
            capture_output=True, text=True, timeout=30, check=True)
        self.assertEqual(done.stdout.split(), ["1", "0"])


del ClientsTest  # a base, no test of its own

if __name__ == "__main__":
    unittest.main()
