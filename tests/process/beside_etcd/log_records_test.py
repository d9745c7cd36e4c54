"""The log beside that of etcd 3.7: the same calls to both, and the entries that each has written for them, byte for byte.
Left out is what is drawn at random (ids of requests, hashes of passwords, the beginnings of tokens), and what
docs/compatibility.md names: the reads that etcd has in its log, and the type of a normal entry.

  log_records_test.py --print [--checkpoint]

prints the entries of etcd whole, as tests/server/replica/drive/log_bytes_test.cc has them; with --checkpoint that of a lease's
checkpoint too, for which etcd takes five minutes. $KVORUM_BIN_DIR and $KVORUM_PEER_DIR say where the programs are.
"""

import glob
import os
import pathlib
import struct
import sys
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import adopt_test  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402

NAMES = {
    4: "put", 5: "delete_range", 6: "txn", 7: "compaction", 8: "lease_grant", 9: "lease_revoke", 10: "alarm",
    11: "lease_checkpoint", 1000: "auth_enable", 1011: "auth_disable", 1012: "authenticate", 1013: "auth_status",
    1100: "user_add", 1101: "user_delete", 1102: "user_get", 1103: "user_change_password", 1104: "user_grant_role",
    1105: "user_revoke_role", 1106: "user_list", 1107: "role_list", 1200: "role_add", 1201: "role_delete",
    1202: "role_get", 1203: "role_grant_permission", 1204: "role_revoke_permission", 1300: "cluster_version_set",
    1301: "member_attributes_set", 1302: "downgrade_info_set"}
# The reads that etcd has in its log.
READS = {"auth_status", "user_get", "user_list", "role_list", "role_get"}
# No client's: the members write them when they see fit.
OF_MEMBERS = {"cluster_version_set", "member_attributes_set", "lease_checkpoint"}
# Of each kind the field that is drawn at random.
RANDOM = {"user_add": 4, "user_change_password": 3, "authenticate": 3}
HEADER = 100
LEASE = 7_000


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value, its bytes with their key): of a message without fixed-width fields."""
    found, at = [], 0
    while at < len(data):
        begin = at
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        else:
            assert key & 7 == 0, (key, data)
        found.append((key >> 3, value, data[begin:at]))
    return found


def entries(wal):
    """The entries of a log, each as (type, data, its whole record); a later one replaces one of the same index."""
    found = {}
    for name in sorted(glob.glob(os.path.join(wal, "*.wal"))):
        with open(name, "rb") as file:
            data = file.read()
        at = 0
        while at + 8 <= len(data):
            (head,) = struct.unpack_from("<Q", data, at)
            if head == 0:
                break
            size = head & ((1 << 56) - 1)
            padding = (head >> 56) & 7 if head >> 63 else 0
            record = {number: value for number, value, _ in fields(data[at + 8:at + 8 + size])}
            at += 8 + size + padding
            if record.get(1) == 2:  # an entry
                entry = {number: value for number, value, _ in fields(record[3])}
                found[entry[3]] = (entry.get(1, 0), entry.get(4, b""), record[3])
    return [entry for _, entry in sorted(found.items())]


def kind_of(data):
    (kind,) = (number for number, _, _ in fields(data) if number not in (1, HEADER))
    return NAMES[kind]


def bare(data):
    """An entry's bytes without what is drawn at random."""
    kind, parts = kind_of(data), []
    for number, value, whole in fields(data):
        drawn = 1 if number == HEADER else RANDOM.get(kind)
        if number == HEADER or kind in RANDOM:
            whole = (number, [more for inner, _, more in fields(value) if inner != drawn])
        parts.append(whole)
    return kind, parts


def of_clients(wal):
    """The entries that clients' calls have made: (kind, data, whole record)."""
    return [(kind_of(data), data, whole) for kind, data, whole in entries(wal) if kind == 0 and data
            and kind_of(data) not in READS | OF_MEMBERS]


def use(endpoint):
    """A call of each kind that makes an entry, and some of a kind that look different in the log."""
    def run(*arguments, stdin=""):
        ctl.succeed(endpoint, *arguments, stdin=stdin)

    with grpc.insecure_channel(endpoint) as channel:
        kv, leases = server.kv(channel), rpc_pb2_grpc.LeaseStub(channel)
        server.put(kv, b"a", b"1")
        leases.LeaseGrant(rpc_pb2.LeaseGrantRequest(ID=LEASE, TTL=600), timeout=10)
        server.put(kv, b"b", b"2", lease=LEASE, prev_kv=True)
        server.put(kv, b"b", b"", ignore_value=True, ignore_lease=True)
        server.put(kv, b"c", b"3")
        kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"a"), timeout=10)
        kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"c", range_end=b"d", prev_kv=True), timeout=10)
        inner = rpc_pb2.TxnRequest(success=[rpc_pb2.RequestOp(
            request_delete_range=rpc_pb2.DeleteRangeRequest(key=b"e"))])
        kv.Txn(rpc_pb2.TxnRequest(
            compare=[rpc_pb2.Compare(result=rpc_pb2.Compare.EQUAL, target=rpc_pb2.Compare.VERSION, key=b"d", version=0),
                     rpc_pb2.Compare(result=rpc_pb2.Compare.LESS, target=rpc_pb2.Compare.MOD, key=b"b",
                                     mod_revision=99)],
            success=[rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"d", value=b"4")),
                     rpc_pb2.RequestOp(request_txn=inner)],
            failure=[rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=b"d", limit=5))]), timeout=10)
        kv.Compact(rpc_pb2.CompactionRequest(revision=3, physical=True), timeout=30)
        kv.Compact(rpc_pb2.CompactionRequest(revision=4), timeout=30)
        leases.LeaseRevoke(rpc_pb2.LeaseRevokeRequest(ID=LEASE), timeout=10)
        for action in (rpc_pb2.AlarmRequest.ACTIVATE, rpc_pb2.AlarmRequest.DEACTIVATE):
            server.maintenance(channel).Alarm(
                rpc_pb2.AlarmRequest(action=action, memberID=5, alarm=rpc_pb2.AlarmType.Value("NOSPACE")), timeout=10)
    run("role", "add", "r1")
    run("role", "grant-permission", "r1", "readwrite", "a", "z")
    run("role", "grant-permission", "r1", "read", "x")
    run("role", "revoke-permission", "r1", "x")
    run("role", "revoke-permission", "r1", "a", "z")
    run("user", "add", "u1:secret")
    run("user", "add", "u2", "--no-password")
    run("user", "passwd", "u1", "--interactive=false", stdin="other\n")
    run("user", "grant-role", "u1", "r1")
    run("user", "revoke-role", "u1", "r1")
    run("user", "delete", "u2")
    run("role", "delete", "r1")
    run("user", "add", "root:root")
    run("user", "grant-role", "root", "root")
    run("auth", "enable")
    run("--user", "root:root", "put", "a", "1")
    run("--user", "root:root", "auth", "disable")
    run("downgrade", "enable", "3.6")
    run("downgrade", "cancel")


class LogRecordsTest(unittest.TestCase):
    def test_every_call_makes_the_same_entry_in_both_logs(self):
        member = server.Server()
        self.addCleanup(member.close)
        member.start()
        use(member.endpoint)
        ours = of_clients(os.path.join(member.data_dir, "member", "wal"))
        with ctl.Etcd() as etcd:
            cluster.wait_until(lambda: ctl.run(etcd.endpoint, "downgrade", "validate", "3.6").returncode == 0,
                               "a cluster's version")
            use(etcd.endpoint)
            theirs = of_clients(os.path.join(etcd.folder, "member", "wal"))
        self.assertEqual([kind for kind, _, _ in ours], [kind for kind, _, _ in theirs])
        self.assertEqual({kind for kind, _, _ in ours}, set(NAMES.values()) - READS - OF_MEMBERS)
        for number, (mine, others) in enumerate(zip(ours, theirs)):
            self.assertEqual(bare(mine[1]), bare(others[1]), f"entry {number}, {mine[0]}")


def print_entries(with_checkpoint):
    gates = ["--feature-gates=LeaseCheckpoint=true"] if with_checkpoint else []
    with ctl.Etcd(*gates) as etcd:
        cluster.wait_until(lambda: ctl.run(etcd.endpoint, "downgrade", "validate", "3.6").returncode == 0,
                           "a cluster's version")
        use(etcd.endpoint)
        if with_checkpoint:
            ctl.succeed(etcd.endpoint, "lease", "grant", "900")
            time.sleep(305)
        for kind, data, whole in entries(os.path.join(etcd.folder, "member", "wal")):
            print(kind_of(data) if kind == 0 and data else f"type {kind}", whole.hex())


if __name__ == "__main__":
    if not ctl.etcd_is_here() or not adopt_test.peer_is_3_7():
        print("SKIPPED: there is no etcd of 3.7")
        sys.exit(0)
    if "--print" in sys.argv:
        print_entries("--checkpoint" in sys.argv)
        sys.exit(0)
    unittest.main(verbosity=2)
