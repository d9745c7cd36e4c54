"""Clusters of one etcd and two kvorum with users: what a member decides where an entry is applied, it decides as the
others do.

Beside an etcd of 3.6.5, whose rule for transactions is another one, a kvorum does not start or join while auth is on,
and does not enable it, unless it is told to, and says so (docs/operations/moving.md). With the newest 3.7 and the
newest 3.6, members are equal after many random operations on keys, leases, users, roles and members, by HashKV and by
everything else that they tell. scripts/mixed-histories makes more of them, beside 3.6.11 too.

KVORUM_MIXED_OPERATIONS is the number of operations (1,500), KVORUM_FAULT_SEED the first of their seeds.
"""

import collections
import json
import os
import pathlib
import random
import sys
import threading
import unittest
import urllib.request

import grpc
from etcd3.etcdrpc import auth_pb2, rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import as_user  # noqa: E402
import cluster  # noqa: E402
import ctl  # noqa: E402
import downgrade_differential_test  # noqa: E402
import mixed_state  # noqa: E402
import server  # noqa: E402

OPERATIONS = int(os.environ.get("KVORUM_MIXED_OPERATIONS", "1500"))
SEED = int(os.environ.get("KVORUM_FAULT_SEED", "1"))
ROOT = ("root", "pw")
REFUSED_AUTH = (grpc.StatusCode.FAILED_PRECONDITION,
                "etcdserver: authentication cannot be enabled while a member of etcd before 3.6.11, 3.5.30 or 3.4.44 "
                "is in the cluster: update it, or start this member with --older-etcd-members=warn")
FLAGS = (*cluster.QUICK, "--bcrypt-cost", "4", "--snapshot-count", "100000")
CLIENTS = 4


def etcd_of(variable):
    return os.path.join(os.environ.get(variable, ""), "etcd")


def needs(variable):
    return unittest.skipUnless(os.path.exists(etcd_of(variable)), f"no etcd in ${variable}")


def metric(member, name):
    with urllib.request.urlopen(f"http://{member.endpoint}/metrics", timeout=10) as page:
        for line in page.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    return None


def message(*fields):
    """Of (number, value): an int, or bytes; those of etcd3's messages are older than much of the API."""
    out = bytearray()

    def varint(number):
        while number >= 0x80:
            out.append(number & 0x7f | 0x80)
            number >>= 7
        out.append(number)
    for number, value in fields:
        if isinstance(value, int):
            varint(number << 3)
            varint(value & (1 << 64) - 1)
        else:
            varint(number << 3 | 2)
            varint(len(value))
            out.extend(value)
    return bytes(out)


class MixedAuthCase(unittest.TestCase):
    def begin(self, etcd):
        self.addCleanup(setattr, cluster, "caller", None)
        self.members = cluster.Cluster(3, flags=FLAGS)
        self.fine = False
        self.addCleanup(lambda: self.members.close(keep=not self.fine))
        self.etcd, *self.ours = self.members.members
        self.etcd.binary = etcd
        for member in self.members.members:
            member.launch(*(() if member is self.etcd else ("--compact-hash-check-time", "1s")))
        for member in self.members.members:
            member.wait_ready()
        self.members.state = "existing"

    def learners(self, member):
        """Their URLs by their ids, as that member lists them; etcd3's messages do not tell."""
        listed = json.loads(self.members.ctl("member", "list", "-w", "json", endpoints=[member.endpoint]))["members"]
        return {m["ID"]: m["peerURLs"] for m in listed if m.get("isLearner", False)}

    @staticmethod
    def add_root(member):
        with member.channel() as channel:
            auth = rpc_pb2_grpc.AuthStub(channel)
            auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=ROOT[0], password=ROOT[1]), timeout=30)
            auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"), timeout=10)

    def enable_auth(self):
        self.add_root(self.etcd)
        with self.etcd.channel() as channel:
            rpc_pb2_grpc.AuthStub(channel).AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=10)
        cluster.caller = ROOT


@needs("KVORUM_PEER_36_5")
class OlderEtcdTest(MixedAuthCase):
    REASON = b"m1 runs 3.6.5, which needs 3.6.11"
    WARNING = b"an older member of etcd decides permissions of transactions otherwise"

    def setUp(self):
        self.begin(etcd_of("KVORUM_PEER_36_5"))

    def wait_end(self, member):
        cluster.wait_until(lambda: not member.alive, f"{member.name} to end; its log ends with {member.tail()}")
        self.assertEqual(member.process.returncode, 1)
        self.assertIn(self.REASON, member.log())
        self.assertIn(b"--older-etcd-members=warn", member.log())

    def doctor(self):
        return ctl.run([m.endpoint for m in self.ours], "--user", ":".join(ROOT), "doctor").stdout

    def test_a_kvorum_that_runs_says_so_and_one_that_starts_refuses(self):
        first, second = self.ours
        for member in self.ours:
            cluster.wait_until(lambda: self.WARNING in member.log(), f"{member.name} to warn before auth is on")
            self.assertEqual(metric(member, "kvorum_etcd_members_deciding_otherwise"), 0)
        self.assertEqual(self.refusal(second), REFUSED_AUTH)
        self.enable_auth()
        for member in self.ours:
            cluster.wait_until(lambda: metric(member, "kvorum_etcd_members_deciding_otherwise") == 1,
                               f"{member.name} to know")
            self.assertTrue(any(self.WARNING in line and b'"level":"error"' in line and b'"3.6.5"' in line
                                for line in member.log().splitlines()), member.tail())
        self.assertIn("[older-etcd]", self.doctor())

        first.kill()
        first.launch()
        self.wait_end(first)
        first.start("--older-etcd-members", "warn")
        cluster.wait_until(lambda: metric(first, "kvorum_etcd_members_deciding_otherwise") == 1, "m2 to warn")
        self.assertIn(self.WARNING, first.log())
        self.members.check_equal()

        joining = self.members.new_member("m4")
        self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[joining.peer_url]))
        joining.launch()
        self.wait_end(joining)
        joining.launch()
        self.wait_end(joining)
        self.members.forget(joining)
        self.assertTrue(second.alive)
        self.fine = True

    @staticmethod
    def refusal(member):
        """Of enabling auth there, or None."""
        with member.channel() as channel:
            try:
                rpc_pb2_grpc.AuthStub(channel).AuthEnable(rpc_pb2.AuthEnableRequest(), timeout=10)
                return None
            except grpc.RpcError as error:
                return error.code(), error.details()

    def test_auth_is_enabled_by_a_member_that_only_warns(self):
        first = self.ours[0]
        first.kill()
        first.start("--older-etcd-members", "warn")
        cluster.wait_until(lambda: self.WARNING in first.log(), "m2 to know of the older etcd")
        self.add_root(first)
        self.assertIsNone(self.refusal(first))
        cluster.caller = ROOT
        self.members.check_equal()
        self.fine = True

    def test_without_users_it_joins(self):
        joining = self.members.new_member("m4")
        self.members.change("MemberAdd", rpc_pb2.MemberAddRequest(peerURLs=[joining.peer_url]))
        joining.start()
        with joining.channel() as channel:
            server.put(server.kv(channel), b"k", b"v")
        self.members.check_equal()
        self.fine = True

    def add_learner(self, ask, channel):
        """Its id."""
        cluster.wait_until(lambda: self.added(ask), "a learner to be added")
        return next(m.ID for m in rpc_pb2_grpc.ClusterStub(channel).MemberList(
            rpc_pb2.MemberListRequest(), timeout=10).members if list(m.peerURLs) == ["http://127.0.0.1:9"])

    @staticmethod
    def asking(channel):
        return lambda method, *fields: channel.unary_unary(f"/etcdserverpb.Cluster/{method}", None, None)(
            message(*fields), timeout=20)

    def test_a_learner_is_not_updated(self):
        """It could be promoted meanwhile. A member knows what the others run once it has said so."""
        cluster.wait_until(lambda: self.WARNING in self.ours[0].log(), "m2 to know of the older etcd")
        with self.ours[0].channel() as channel:
            ask = self.asking(channel)
            learner = self.add_learner(ask, channel)
            with self.assertRaises(grpc.RpcError) as refused:
                ask("MemberUpdate", (1, learner), (2, b"http://127.0.0.1:10"))
            self.assertIn("a learner cannot be updated", refused.exception.details())
        self.fine = True

    def test_a_learner_that_is_updated_before_the_older_etcd_is_known_stays_one(self):
        """etcd's own update makes it a voter in the lists of older members."""
        first, _ = self.ours
        with first.channel() as channel:
            learner = self.add_learner(self.asking(channel), channel)
        first.kill()
        self.etcd.pause()
        first.start()
        with first.channel() as channel:
            self.asking(channel)("MemberUpdate", (1, learner), (2, b"http://127.0.0.1:10"))
        self.assertNotIn(self.WARNING, first.log())
        self.etcd.resume()
        self.members.check_equal()
        for member in self.members.members:
            self.assertEqual(self.learners(member), {learner: ["http://127.0.0.1:10"]}, member.name)
        self.fine = True

    def test_where_keys_part_it_is_said(self):
        """A put of a user who may write the key and not read it: etcd gives him the previous value."""
        self.enable_auth()
        writer = ("writer", "pw")
        with self.etcd.channel() as channel:
            auth = rpc_pb2_grpc.AuthStub(channel)
            auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=writer[0], password=writer[1]), timeout=30)
            auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="writes"), timeout=10)
            auth.RoleGrantPermission(rpc_pb2.AuthRoleGrantPermissionRequest(
                name="writes", perm=auth_pb2.Permission(permType=auth_pb2.Permission.WRITE, key=b"k")), timeout=10)
            auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user=writer[0], role="writes"), timeout=10)
            server.put(server.kv(channel), b"k", b"secret")
        self.members.check_equal()
        for member in self.ours:
            cluster.wait_until(lambda: metric(member, "kvorum_etcd_compared_revision") > 0, f"{member.name} to compare")
            self.assertEqual(metric(member, "kvorum_etcd_hash_agreement"), 1)
        with as_user.intercept(grpc.insecure_channel(self.etcd.endpoint), *writer) as channel:
            put = rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=b"k", value=b"v", prev_kv=True))
            answer = server.kv(channel).Txn(rpc_pb2.TxnRequest(success=[put]), timeout=10)
            self.assertEqual(answer.responses[0].response_put.prev_kv.value, b"secret")
        # Hashes of the same compaction are compared.
        with self.etcd.channel() as channel:
            revision = server.put(server.kv(channel), b"other", b"v").header.revision
            server.kv(channel).Compact(rpc_pb2.CompactionRequest(revision=revision - 1, physical=True), timeout=10)
        for member in self.ours:
            cluster.wait_until(lambda: metric(member, "kvorum_etcd_hash_agreement") == 0, f"{member.name} to find it out")
            self.assertTrue(any(b"a member of etcd holds other keys" in line and b'"level":"error"' in line
                                for line in member.log().splitlines()), member.tail())
        self.assertIn("[etcd-differs]", self.doctor())
        self.fine = True

    @staticmethod
    def added(ask):
        try:
            ask("MemberAdd", (1, b"http://127.0.0.1:9"), (2, 1))
            return True
        except grpc.RpcError as error:
            if "unhealthy cluster" not in error.details():
                raise
            return False


class Client:
    """Asks for random things, each at a random member in a random user's name. Refusals are outcomes like others."""

    NAMES = [b"u%d" % i for i in range(6)] + [b"l" * 500, b"l" * 499 + b"m", b"l" * 2000, b"\xff\xfe"]
    ROLES = [b"r%d" % i for i in range(5)] + [b"x" * 481, b"\xc0r"]
    KEYS = [b"%c%d" % (c, i) for c in b"abc" for i in range(4)]
    URLS = [b"http://127.0.0.1:%d" % port for port in range(1, 4)]

    def __init__(self, members, number, inverted):
        self.inverted = inverted
        self.random = random.Random(f"{SEED} {number}")
        self.channels = [grpc.insecure_channel(m.endpoint, options=[("grpc.use_local_subchannel_pool", 1)])
                         for m in members]
        self.etcd = self.channels[0]
        self.tokens = {}
        self.made = collections.Counter()
        self.refused = collections.Counter()
        self.learner = None

    def close(self):
        for channel in self.channels:
            channel.close()

    def ask(self, method, *fields, user=b"root", channel=None):
        """The answer, or None. Fields, or a whole message."""
        channel = channel or self.random.choice(self.channels)
        kind = "Txn" if method == "KV/Txn" else method.split("/")[0]
        request = fields[0] if fields and isinstance(fields[0], bytes) else message(*fields)
        try:
            answer = channel.unary_unary(f"/etcdserverpb.{method}", None, None)(
                request, timeout=30, metadata=self.token(user, channel))
            self.made[kind] += 1
            return answer
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAUTHENTICATED:
                self.tokens.pop(user, None)
            self.refused[error.details()] += 1
            return None

    def token(self, user, channel):
        """As metadata; none while there are no logins."""
        if user is None:
            return []
        if user not in self.tokens:
            try:
                self.tokens[user] = channel.unary_unary("/etcdserverpb.Auth/Authenticate", None,
                                                        rpc_pb2.AuthenticateResponse.FromString)(
                    message((1, user), (2, b"pw")), timeout=30).token
            except grpc.RpcError as error:
                if "authentication is not enabled" not in error.details():
                    raise
                return []
        return [("token", self.tokens[user])]

    def anybody(self):
        return self.random.choice([b"root", *self.NAMES[:6], *self.NAMES[:6], *self.NAMES[6:9]])

    def range(self):
        """A key and an end, which may lie before it if the members decide those alike."""
        key = self.random.choice(self.KEYS)
        end = self.random.choice([b"", b"", key[:1] + b"9", b"\0", b"c"])
        return key, end if self.inverted or not end.startswith(b"c") or end > key else b"d"

    # ---- keys ----

    def put_fields(self):
        fields = [(1, self.random.choice(self.KEYS)), (2, b"%d" % self.random.randrange(1000))]
        if self.random.random() < 0.4:
            fields.append((3, self.random.choice((11, 12, 13))))
        if self.random.random() < 0.4:
            fields.append((4, 1))
        return fields

    def delete_fields(self):
        key, end = self.range()
        return [(1, key), (2, end), (3, self.random.randrange(2))]

    def operation(self, depth=0):
        kind = self.random.random()
        if kind < 0.5:
            return message((2, message(*self.put_fields())))
        if kind < 0.7:
            return message((3, message(*self.delete_fields())))
        if kind < 0.85 or depth > 1:
            key, end = self.range()
            return message((1, message((1, key), (2, end))))
        return message((4, self.txn(depth + 1)))

    def txn(self, depth=0):
        compare = message((1, self.random.randrange(3)), (2, 0), (3, self.random.choice(self.KEYS)), (4, 1))
        fields = [(1, compare)]
        for branch in (2, 3):
            # All refuse one that puts a key twice.
            fields += [(branch, self.operation(depth)) for _ in range(self.random.randrange(3))]
        return message(*fields)

    def keys(self):
        kind = self.random.random()
        user = self.anybody()
        if kind < 0.25:
            self.ask("KV/Put", *self.put_fields(), user=user)
        elif kind < 0.35:
            self.ask("KV/DeleteRange", *self.delete_fields(), user=user)
        elif kind < 0.9:
            self.ask("KV/Txn", self.txn(), user=user)
        elif kind < 0.96:
            self.ask("Lease/LeaseGrant", (1, 600), (2, self.random.choice((11, 12, 13))), user=user)
        else:
            self.ask("Lease/LeaseRevoke", (1, self.random.choice((11, 12, 13))), user=user)

    def compact(self):
        """At the newest revision, which is its own: a key that one transaction deletes and puts again is lost in etcd
        by a compaction at just that revision, and the next read of it ends the process. After a deletion of everything
        the hash is a special one."""
        if self.random.random() < 0.5:
            answer = self.ask("KV/DeleteRange", (1, b"\0"), (2, b"\0"))
            made = None if answer is None else rpc_pb2.DeleteRangeResponse.FromString(answer)
            if made is None or made.deleted == 0:
                return
        else:
            answer = self.ask("KV/Put", (1, b"compacted"), (2, b"v"))
            if answer is None:
                return
            made = rpc_pb2.PutResponse.FromString(answer)
        self.ask("KV/Compact", (1, made.header.revision), (2, self.random.randrange(2)))

    # ---- users and roles ----

    def auth(self):
        role, user = self.random.choice(self.ROLES), self.random.choice(self.NAMES)
        kind = self.random.randrange(10)
        if kind < 2:
            self.ask("Auth/UserAdd", (1, user), (2, b"pw"))
        elif kind == 2:
            self.ask("Auth/RoleAdd", (1, role))
        elif kind < 5:
            self.ask("Auth/UserGrantRole", (1, user), (2, role))
        elif kind < 8:
            key, end = self.range()
            self.ask("Auth/RoleGrantPermission", (1, role),
                     (2, message((1, self.random.choice((0, 1, 2, 2, 3))), (2, key), (3, end))))
        elif kind == 8:
            rare = self.random.randrange(4)
            if rare == 0:
                self.ask("Auth/UserDelete", (1, user))
            elif rare == 1:
                self.ask("Auth/RoleDelete", (1, role))
            elif rare == 2:
                self.ask("Auth/UserRevokeRole", (1, user), (2, role))
            else:
                self.ask("Auth/UserChangePassword", (1, user), (2, b"pw"))
        else:
            key, end = self.range()
            self.ask("Auth/RoleRevokePermission", (1, role), (2, key), (3, end))

    def switch(self):
        if self.random.random() < 0.5:
            self.ask("Auth/AuthDisable")
        self.ask("Auth/AuthEnable", user=None)

    def forget_what_is_no_text(self):
        """Python cannot read them. etcd before 3.7 takes them, and so it may delete them."""
        self.ask("Auth/UserDelete", (1, self.NAMES[-1]), channel=self.etcd)
        self.ask("Auth/RoleDelete", (1, self.ROLES[-1]), channel=self.etcd)

    # ---- members ----

    def change_members(self):
        """A learner that never runs comes, has other URLs, and goes. True if one has come, here or elsewhere."""
        answer = self.ask("Cluster/MemberAdd", (1, self.random.choice(self.URLS)), (2, 1))
        if answer is not None:
            self.learner = rpc_pb2.MemberAddResponse.FromString(answer).member.ID
        if self.learner is None:
            return self.refused["etcdserver: too many learner members in cluster"] > 0
        if self.random.random() < 0.5:
            # Through us alone: an older etcd loses it (docs/operations/moving.md).
            self.ask("Cluster/MemberUpdate", (1, self.learner), (2, self.random.choice(self.URLS)),
                     channel=self.channels[1])
        elif self.ask("Cluster/MemberRemove", (1, self.learner)) is not None:
            self.learner = None
        return True

    def run(self, operations):
        for _ in range(operations):
            kind = self.random.random()
            if kind < 0.6:
                self.keys()
            elif kind < 0.95:
                self.auth()
            elif kind < 0.97:
                self.compact()
            elif kind < 0.98:
                self.switch()
            else:
                self.change_members()


class EqualAfterManyOperations:
    # The permission of a range that ends before it begins is that of etcd 3.7, and not the one of 3.6.
    INVERTED = False

    def test_members_are_equal(self):
        self.begin(self.ETCD)
        self.enable_auth()
        clients = [Client(self.members.members, number, self.INVERTED) for number in range(CLIENTS)]
        for client in clients:
            self.addCleanup(client.close)
        # A member must have been connected for a while before it takes a change of members.
        cluster.wait_until(lambda: all(client.change_members() for client in clients), "changes of members")
        failures = []

        def run(client):
            try:
                client.run(OPERATIONS // CLIENTS)
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)
        threads = [threading.Thread(target=run, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        made = sum((client.made for client in clients), collections.Counter())
        refused = sum((client.refused for client in clients), collections.Counter())
        # The order of the four decides how many have permissions: 320 to 500 of 1,500 in runs that were seen.
        self.assertGreater(sum(made.values()), OPERATIONS // 8, refused)
        for kind in ("KV", "Txn", "Lease", "Auth", "Cluster"):
            self.assertGreater(made[kind], 5, (kind, made, refused.most_common(20)))

        clients[0].tokens.clear()
        clients[0].ask("Auth/AuthEnable", user=None)
        clients[0].forget_what_is_no_text()
        self.check_equal()
        self.check_last_delete(clients[0])
        for member in self.ours:
            self.assertTrue(member.alive and member.starts == 1, member.tail())
            cluster.wait_until(lambda: metric(member, "kvorum_etcd_compared_revision") > 0,
                               f"{member.name} to compare itself with etcd")
            self.assertEqual(metric(member, "kvorum_etcd_hash_agreement"), 1)
            self.assertEqual(metric(member, "kvorum_replica_hash_agreement"), 1)
        self.fine = True

    def check_equal(self):
        self.members.check_equal()
        states, revisions = [], set()
        for member in self.members.members:
            with member.channel() as channel:
                # The order of alarms is nobody's.
                states.append(mixed_state.everything(channel) | {"learners": self.learners(member)})
                answer = channel.unary_unary("/etcdserverpb.Auth/AuthStatus", None, None)(b"", timeout=10)
                revisions.add(answer[2 + answer[1]:])  # behind the header
        for state in states[1:]:
            self.assertEqual(state, states[0])
        self.assertEqual(states[0]["alarms"], [])
        self.assertEqual(len(revisions), 1)

    def check_last_delete(self, client):
        """A compaction at the revision that deleted the last key: its hash is etcd's, and nobody raises an alarm."""
        client.ask("KV/DeleteRange", (1, b"\0"), (2, b"\0"))
        client.ask("KV/Put", (1, b"last"), (2, b"v"))
        for deleted in (b"nothing", b"last"):
            answer = client.ask("KV/DeleteRange", (1, deleted))
            revision = rpc_pb2.DeleteRangeResponse.FromString(answer).header.revision
            client.ask("KV/Compact", (1, revision), (2, 1))
        hashes = set()
        for member in self.members.members:
            with member.channel() as channel:
                def ask():
                    # Soon after, it is the one that the compaction has left.
                    found = server.maintenance(channel).HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=30)
                    return found if found.compact_revision < revision else None
                found = cluster.wait_until(ask, f"{member.name} to finish the compaction")
                hashes.add((found.hash, found.compact_revision))
        self.assertEqual(len(hashes), 1)
        self.check_equal()


class EntriesAreReadAlike:
    """What an etcd before 3.7 reads otherwise in an entry's bytes, or does with an entry that another member has
    proposed. No users are needed for it."""

    def setUp(self):
        self.begin(self.ETCD)
        self.channel = self.ours[0].channel()
        self.addCleanup(self.channel.close)

    def ask(self, method, *fields):
        return self.channel.unary_unary(f"/etcdserverpb.{method}", None, None)(message(*fields), timeout=20)

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
        self.ask("KV/Txn", (2, message((3, message((1, b"b"), (2, b""))))))
        # Of both keys, the second is no newer than the first: the compare is of one.
        compare = message((1, 0), (2, 1), (3, b"c"), (5, 4), (64, b""))
        self.ask("KV/Txn", (1, compare), (2, message((2, message((1, b"then"), (2, b"v"))))),
                 (3, message((2, message((1, b"else"), (2, b"v"))))))
        self.assertEqual(self.keys(), [b"c", b"d", b"then"])
        self.end()

    def test_an_operation_in_parts_is_one(self):
        """There the last part counts: a put of the empty key."""
        self.ask("KV/Txn", (2, message((2, message((1, b"p"), (2, b"v"))), (2, message((2, b"w"))))))
        self.assertEqual(self.keys(), [b"p"])
        self.end()

    def test_a_field_of_another_type_is_skipped(self):
        """There it ends the process."""
        self.ask("KV/Put", (1, b"k"), (2, b"v"), (1, 7))
        self.ask("KV/Txn", (2, message((2, message((1, b"t"), (2, b"v"))), (2, 7))))
        self.ask("KV/DeleteRange", (1, b"k"), (3, b"text"))
        self.ask("Auth/RoleAdd", (1, b"r"), (1, 7))
        self.ask("Auth/RoleGrantPermission", (1, b"r"), (2, message((1, 2), (2, b"k"), (2, 7), (3, b""))))
        self.ask("Auth/UserAdd", (1, b"u"), (2, b"pw"), (3, message((1, b"text"))))
        self.ask("KV/Compact", (1, 2), (1, b"text"))
        self.assertEqual(self.keys(), [b"t"])
        self.end()

    def test_a_range_of_a_revision_that_is_gone_refuses_the_whole_transaction(self):
        """There a member that was not asked leaves the range out, and applies the rest."""
        self.put(b"k", b"k", b"k")
        self.ask("KV/Compact", (1, 3), (2, 1))
        put = message((2, message((1, b"p"), (2, b"v"))))
        for member in self.members.members:
            with member.channel() as channel:
                for revision in (2, 1000):
                    read = message((1, message((1, b"k"), (4, revision))))
                    nested = message((4, message((2, read))))
                    for branch in ((2, read), (2, put)), ((2, put), (2, read)), ((2, put), (2, nested)):
                        with self.assertRaises(grpc.RpcError) as refused:
                            channel.unary_unary("/etcdserverpb.KV/Txn", None, None)(message(*branch), timeout=20)
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


class WithTheNewestTest(EqualAfterManyOperations, MixedAuthCase):
    ETCD = etcd_of("KVORUM_PEER_DIR")
    INVERTED = True


@needs("KVORUM_PEER_36")
class With36Test(EqualAfterManyOperations, MixedAuthCase):
    ETCD = etcd_of("KVORUM_PEER_36")


class EntriesBesideTheNewestTest(EntriesAreReadAlike, MixedAuthCase):
    ETCD = etcd_of("KVORUM_PEER_DIR")


@needs("KVORUM_PEER_36")
class EntriesBeside36Test(EntriesAreReadAlike, MixedAuthCase):
    ETCD = etcd_of("KVORUM_PEER_36")


if __name__ == "__main__":
    if not downgrade_differential_test.has_peer():
        print("SKIPPED: there is no etcd of 3.7")
        sys.exit(0)
    unittest.main(verbosity=2)
