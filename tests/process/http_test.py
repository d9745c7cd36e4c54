#!/usr/bin/env python3
"""HTTP on the ports of real servers: the peer port's questions of other members."""

import http.client
import json
import unittest

import server


def ask(port, method, path, body=None, headers=None):
    """(status, headers in lower case, body) of one request over HTTP/1.1."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, names, answer.read().decode()
    finally:
        connection.close()


class PeerPortTest(unittest.TestCase):
    def start(self):
        member = server.Server()
        self.addCleanup(member.close)
        return member.start()

    def test_the_hash_of_a_members_keys_is_that_of_the_api(self):
        member = self.start()
        with member.channel() as channel:
            for i in range(5):
                server.put(server.kv(channel), b"k%d" % (i % 2), b"v%d" % i)
            of_api = server.maintenance(channel).HashKV(server.rpc_pb2.HashKVRequest(revision=4), timeout=10)
        status, headers, body = ask(member.peer_port, "GET", "/members/hashkv", '{"revision":4}')
        self.assertEqual((status, headers["content-type"]), (200, "application/json"))
        self.assertEqual(json.loads(body), {"header": {"revision": 6}, "hash": of_api.hash,
                                            "compact_revision": of_api.compact_revision, "hash_revision": 4})
        cluster_id = headers["x-etcd-cluster-id"]
        self.assertEqual(
            ask(member.peer_port, "GET", "/members/hashkv", "{}", {"X-Etcd-Cluster-ID": cluster_id})[0], 200)
        status, _, body = ask(member.peer_port, "GET", "/members/hashkv", "{}", {"X-Etcd-Cluster-ID": "1"})
        self.assertEqual((status, body), (412, "cluster ID mismatch\n"))
        status, _, body = ask(member.peer_port, "GET", "/members/hashkv", '{"revision":7}')
        self.assertEqual((status, body), (400, "mvcc: required revision is a future revision\n"))

    def test_no_downgrade_is_under_way(self):
        member = self.start()
        status, headers, body = ask(member.peer_port, "GET", "/downgrade/enabled")
        self.assertEqual((status, headers["content-type"], body), (200, "text/plain", "false"))
        status, headers, _ = ask(member.peer_port, "POST", "/downgrade/enabled")
        self.assertEqual((status, headers["allow"], headers["x-content-type-options"]), (405, "GET", "nosniff"))


if __name__ == "__main__":
    unittest.main()
