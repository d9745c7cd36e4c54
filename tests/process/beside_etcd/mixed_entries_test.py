"""Entries that an etcd before 3.7 reads otherwise, or decides otherwise, in clusters of one etcd and two kvorum: beside
the newest 3.7 and the newest 3.6 all members do the same (docs/operations/moving.md)."""

import os
import pathlib
import sys
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import downgrade_differential_test  # noqa: E402
import mixed_case  # noqa: E402
import server  # noqa: E402


class EntriesAreReadAlike:
    """What an etcd before 3.7 reads otherwise in an entry's bytes, or does with an entry that another member has
    proposed. No users are needed for it."""

    def setUp(self):
        self.begin(self.ETCD)
        self.channel = self.ours[0].channel()
        self.addCleanup(self.channel.close)

    def ask(self, method, *fields):
        return self.channel.unary_unary(f"/etcdserverpb.{method}", None, None)(mixed_case.message(*fields), timeout=20)

    def put(self, *keys):
        for key in keys:
            server.put(server.kv(self.channel), key, b"v")

    def keys(self):
        answer = server.kv(self.channel).Range(rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0"), timeout=10)
        return [row.key for row in answer.kvs]

    def end(self):
        self.members.check_equal()
        for member in self.members.members:
            self.assertTrue(member.alive, f"{member.name} has ended; its log ends with {member.tail()}")
        self.fine = True

    def test_an_empty_range_end_is_none(self):
        """There it means all keys from this one on."""
        self.put(b"a", b"b", b"c", b"d")
        self.ask("KV/DeleteRange", (1, b"a"), (2, b""))
        self.ask("KV/Txn", (2, mixed_case.message((3, mixed_case.message((1, b"b"), (2, b""))))))
        # Of both keys, the second is no newer than the first: the compare is of one.
        compare = mixed_case.message((1, 0), (2, 1), (3, b"c"), (5, 4), (64, b""))
        self.ask("KV/Txn", (1, compare), (2, mixed_case.message((2, mixed_case.message((1, b"then"), (2, b"v"))))),
                 (3, mixed_case.message((2, mixed_case.message((1, b"else"), (2, b"v"))))))
        self.assertEqual(self.keys(), [b"c", b"d", b"then"])
        self.end()

    def test_an_operation_in_parts_is_one(self):
        """There the last part counts: a put of the empty key."""
        self.ask("KV/Txn", (2, mixed_case.message((2, mixed_case.message((1, b"p"), (2, b"v"))), (2, mixed_case.message((2, b"w"))))))
        self.assertEqual(self.keys(), [b"p"])
        self.end()

    def test_a_field_of_another_type_is_skipped(self):
        """There it ends the process."""
        self.ask("KV/Put", (1, b"k"), (2, b"v"), (1, 7))
        self.ask("KV/Txn", (2, mixed_case.message((2, mixed_case.message((1, b"t"), (2, b"v"))), (2, 7))))
        self.ask("KV/DeleteRange", (1, b"k"), (3, b"text"))
        self.ask("Auth/RoleAdd", (1, b"r"), (1, 7))
        self.ask("Auth/RoleGrantPermission", (1, b"r"), (2, mixed_case.message((1, 2), (2, b"k"), (2, 7), (3, b""))))
        self.ask("Auth/UserAdd", (1, b"u"), (2, b"pw"), (3, mixed_case.message((1, b"text"))))
        self.ask("KV/Compact", (1, 2), (1, b"text"))
        self.assertEqual(self.keys(), [b"t"])
        self.end()

    def test_a_range_of_a_revision_that_is_gone_refuses_the_whole_transaction(self):
        """There a member that was not asked leaves the range out, and applies the rest."""
        self.put(b"k", b"k", b"k")
        self.ask("KV/Compact", (1, 3), (2, 1))
        put = mixed_case.message((2, mixed_case.message((1, b"p"), (2, b"v"))))
        for member in self.members.members:
            with member.channel() as channel:
                for revision in (2, 1000):
                    read = mixed_case.message((1, mixed_case.message((1, b"k"), (4, revision))))
                    nested = mixed_case.message((4, mixed_case.message((2, read))))
                    for branch in ((2, read), (2, put)), ((2, put), (2, read)), ((2, put), (2, nested)):
                        with self.assertRaises(grpc.RpcError) as refused:
                            channel.unary_unary("/etcdserverpb.KV/Txn", None, None)(mixed_case.message(*branch), timeout=20)
                        self.assertIn("required revision", refused.exception.details())
        self.assertEqual(self.keys(), [b"k"])
        self.end()

    def test_the_answer_is_that_of_the_transaction_that_was_asked(self):
        self.put(b"k")
        request = rpc_pb2.TxnRequest(success=[
            rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"p", value=b"v")),
            rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=b"k"))])
        for member in self.members.members:
            with member.channel() as channel:
                answer = server.kv(channel).Txn(request, timeout=10)
                self.assertEqual([r.WhichOneof("response") for r in answer.responses],
                                 ["response_put", "response_range"])
                self.assertEqual(answer.responses[1].response_range.kvs[0].key, b"k")
                self.assertEqual(answer.responses[1].response_range.header.revision, answer.header.revision)
        self.end()


class EntriesBesideTheNewestTest(EntriesAreReadAlike, mixed_case.MixedCase):
    ETCD = mixed_case.etcd_of("KVORUM_PEER_DIR")


@mixed_case.needs("KVORUM_PEER_36")
class EntriesBeside36Test(EntriesAreReadAlike, mixed_case.MixedCase):
    ETCD = mixed_case.etcd_of("KVORUM_PEER_36")


if __name__ == "__main__":
    if not downgrade_differential_test.has_peer():
        print("SKIPPED: there is no etcd of 3.7")
        sys.exit(0)
    unittest.main(verbosity=2)
