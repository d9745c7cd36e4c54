"""Changes of members that are refused, beside an etcd of 3.7 ($KVORUM_PEER_DIR): where a request breaks several rules at
once, both name the same one.

What differs on purpose (docs/compatibility.md) is not asked: an update of a member that there is, with invalid URLs, and
one without a leader."""

import pathlib
import sys
import time
import unittest

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import ctl  # noqa: E402
import server  # noqa: E402
from downgrade_differential_test import has_peer  # noqa: E402

UNKNOWN = 77
BAD, FREE, OTHER = ["no URL"], ["http://127.0.0.1:9"], ["http://127.0.0.1:10"]
ADD, REMOVE, UPDATE, PROMOTE = "MemberAdd", "MemberRemove", "MemberUpdate", "MemberPromote"


def encode(number, value):
    """A field: those of etcd3's messages are older than learners."""
    if isinstance(value, list):
        return b"".join(bytes([number << 3 | 2, len(text)]) + text.encode() for text in value)
    rest, out = int(value), bytearray([number << 3])
    while rest >= 0x80:
        out.append(rest & 0x7f | 0x80)
        rest >>= 7
    return bytes(out + bytes([rest]))


FIELDS = {ADD: ("peerURLs", "isLearner"), REMOVE: ("ID",), UPDATE: ("ID", "peerURLs"), PROMOTE: ("ID",)}
ANSWERS = {ADD: rpc_pb2.MemberAddResponse, REMOVE: rpc_pb2.MemberRemoveResponse, UPDATE: rpc_pb2.MemberUpdateResponse,
           PROMOTE: rpc_pb2.MemberListResponse}


class Side:
    def __init__(self, test, name, endpoint):
        self.name = name
        self.channel = cluster.channel_to(endpoint)
        test.addCleanup(self.channel.close)
        self.members = rpc_pb2_grpc.ClusterStub(self.channel)
        self.auth = rpc_pb2_grpc.AuthStub(self.channel)
        self.tokens = {"wrong": "wrong.1"}
        mine = self.listed()[0]
        self.ids = {"unknown": UNKNOWN, "none": 0, "own": mine.ID}
        self.urls = {"bad": BAD, "no": [], "free": FREE, "other": OTHER, "own": list(mine.peerURLs),
                     "bad and own": BAD + list(mine.peerURLs)}

    def listed(self):
        return self.members.MemberList(rpc_pb2.MemberListRequest(), timeout=10).members

    def ask(self, call, who=None, **fields):
        """The verdict; the id of what was added is kept under the name of its URLs."""
        if "ID" in fields:
            fields["ID"] = self.ids[fields["ID"]]
        urls = fields.get("peerURLs")
        if urls is not None:
            fields["peerURLs"] = self.urls[urls]
        request = b"".join(encode(number, fields[name]) for number, name in enumerate(FIELDS[call], 1) if name in fields)
        try:
            answer = self.channel.unary_unary(f"/etcdserverpb.Cluster/{call}", None, ANSWERS[call].FromString)(
                request, timeout=40, metadata=[("token", self.tokens[who])] if who else [])
        except grpc.RpcError as error:
            return error.code(), error.details()
        if call == ADD:
            self.ids[urls] = answer.member.ID
        return "answer", sorted(list(m.peerURLs) for m in answer.members if m.ID != self.ids["own"])

    def enable_auth(self):
        self.auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="root"))
        for user in ("root", "other"):
            self.auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=user, password=user))
        self.auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"))
        self.auth.AuthEnable(rpc_pb2.AuthEnableRequest())
        for user in ("root", "other"):
            self.tokens[user] = self.auth.Authenticate(
                rpc_pb2.AuthenticateRequest(name=user, password=user), timeout=30).token


class MembersDifferentialTest(unittest.TestCase):
    def setUp(self):
        ours = server.Server("--bcrypt-cost", "4")
        self.addCleanup(ours.close)
        ours.start()
        etcd = ctl.Etcd("--bcrypt-cost=4")
        self.addCleanup(etcd.__exit__)
        etcd.__enter__()
        self.sides = [Side(self, "kvorum", ours.endpoint), Side(self, "etcd", etcd.endpoint)]

    def ask(self, call, **fields):
        verdicts = [side.ask(call, **fields) for side in self.sides]
        with self.subTest(call, **fields):
            self.assertEqual(*verdicts)
        return verdicts[0]

    def ask_all(self, ids, who=None):
        """Every call that changes nothing: of these ids, with each kind of URLs."""
        for identity in ids:
            for urls in ("bad", "no", "own", "bad and own", "free"):
                if identity not in ("unknown", "none", "gone"):
                    if urls != "own" or identity == "own":
                        continue
                self.ask(UPDATE, ID=identity, peerURLs=urls, who=who)
            self.ask(PROMOTE, ID=identity, who=who)
            if identity != "free":
                self.ask(REMOVE, ID=identity, who=who)
        for urls in ("bad", "no", "own", "bad and own"):
            for is_learner in (False, True):
                self.ask(ADD, peerURLs=urls, isLearner=is_learner, who=who)

    def test_the_first_rule_that_is_broken_is_named(self):
        self.ask_all(["unknown", "none", "own"])
        self.assertEqual(self.ask(ADD, peerURLs="free", isLearner=True)[0], "answer")
        added = int(time.time())
        self.ask_all(["unknown", "own", "free"])
        # A member's id is of its URLs and the second: in the same one it is the id that is there already.
        while int(time.time()) == added:
            time.sleep(0.05)
        for urls in ("bad", "free", "other"):
            self.ask(ADD, peerURLs=urls, isLearner=True)  # one learner is the limit
        self.assertEqual(self.ask(REMOVE, ID="free")[0], "answer")
        for side in self.sides:
            side.ids["gone"] = side.ids["free"]
        self.ask_all(["gone"])

    def test_permissions_are_asked_for_as_early(self):
        for side in self.sides:
            side.enable_auth()
        for who in ("root", "other", "wrong", None):
            self.ask_all(["unknown", "own"], who=who)

    def test_without_a_leader(self):
        self.assertEqual(self.ask(ADD, peerURLs="free")[0], "answer")  # it is never started
        self.ask(ADD, peerURLs="bad")
        self.ask(ADD, peerURLs="other")
        self.ask(REMOVE, ID="unknown")
        self.ask(PROMOTE, ID="unknown")


if __name__ == "__main__":
    if not has_peer():
        print(f"SKIPPED: {ctl.ETCD} is no etcd of 3.7")
        sys.exit(0)
    unittest.main()
