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
import mixed_case  # noqa: E402
import mixed_state  # noqa: E402
import server  # noqa: E402

OPERATIONS = int(os.environ.get("KVORUM_MIXED_OPERATIONS", "1500"))
SEED = int(os.environ.get("KVORUM_FAULT_SEED", "1"))
REFUSED_AUTH = (grpc.StatusCode.FAILED_PRECONDITION,
                "etcdserver: authentication cannot be enabled while a member of etcd before 3.6.11, 3.5.30 or 3.4.44 "
                "is in the cluster: update it, or start this member with --older-etcd-members=warn")
CLIENTS = 4


def metric(member, name):
    with urllib.request.urlopen(f"http://{member.endpoint}/metrics", timeout=10) as page:
        for line in page.read().decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
    return None


@mixed_case.needs("KVORUM_PEER_36_5")
class OlderEtcdTest(mixed_case.MixedCase):
    REASON = b"m1 runs 3.6.5, which needs 3.6.11"
    WARNING = b"an older member of etcd decides permissions of transactions otherwise"

    def setUp(self):
        self.begin(mixed_case.etcd_of("KVORUM_PEER_36_5"))

    def wait_end(self, member):
        cluster.wait_until(lambda: not member.alive, f"{member.name} to end; its log ends with {member.tail()}")
        self.assertEqual(member.process.returncode, 1)
        self.assertIn(self.REASON, member.log())
        self.assertIn(b"--older-etcd-members=warn", member.log())

    def doctor(self):
        return ctl.run([m.endpoint for m in self.ours], "--user", ":".join(mixed_case.ROOT), "doctor").stdout

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
        cluster.caller = mixed_case.ROOT
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
            mixed_case.message(*fields), timeout=20)

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
            self.assertTrue(any(b"an etcd member holds different keys" in line and b'"level":"error"' in line
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
        """The answer, or None. Fields, or a whole mixed_case.message."""
        channel = channel or self.random.choice(self.channels)
        kind = "Txn" if method == "KV/Txn" else method.split("/")[0]
        request = fields[0] if fields and isinstance(fields[0], bytes) else mixed_case.message(*fields)
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
                    mixed_case.message((1, user), (2, b"pw")), timeout=30).token
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
            return mixed_case.message((2, mixed_case.message(*self.put_fields())))
        if kind < 0.7:
            return mixed_case.message((3, mixed_case.message(*self.delete_fields())))
        if kind < 0.85 or depth > 1:
            key, end = self.range()
            return mixed_case.message((1, mixed_case.message((1, key), (2, end))))
        return mixed_case.message((4, self.txn(depth + 1)))

    def txn(self, depth=0):
        compare = mixed_case.message((1, self.random.randrange(3)), (2, 0), (3, self.random.choice(self.KEYS)), (4, 1))
        fields = [(1, compare)]
        for branch in (2, 3):
            # All refuse one that puts a key twice.
            fields += [(branch, self.operation(depth)) for _ in range(self.random.randrange(3))]
        return mixed_case.message(*fields)

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
                     (2, mixed_case.message((1, self.random.choice((0, 1, 2, 2, 3))), (2, key), (3, end))))
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

    @staticmethod
    def has_compacted(member, revision):
        wanted = b'"finished scheduled compaction","compact-revision":%d,' % revision
        return wanted in member.log()

    def check_last_delete(self, client):
        """A compaction at the revision that deleted the last key: its hash is etcd's, and nobody raises an alarm."""
        client.ask("KV/DeleteRange", (1, b"\0"), (2, b"\0"))
        client.ask("KV/Put", (1, b"last"), (2, b"v"))
        for deleted in (b"nothing", b"last"):
            answer = client.ask("KV/DeleteRange", (1, deleted))
            revision = rpc_pb2.DeleteRangeResponse.FromString(answer).header.revision
            client.ask("KV/Compact", (1, revision), (2, 1))
            # The client waits for its own member alone, and one that is asked for the next compaction before it has
            # finished this one keeps no hash of the next.
            cluster.wait_until(lambda: all(self.has_compacted(member, revision) for member in self.members.members),
                               f"all members to finish the compaction at {revision}")
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


class WithTheNewestTest(EqualAfterManyOperations, mixed_case.MixedCase):
    ETCD = mixed_case.etcd_of("KVORUM_PEER_DIR")
    INVERTED = True


@mixed_case.needs("KVORUM_PEER_36")
class With36Test(EqualAfterManyOperations, mixed_case.MixedCase):
    ETCD = mixed_case.etcd_of("KVORUM_PEER_36")


if __name__ == "__main__":
    if not downgrade_differential_test.has_peer():
        print("SKIPPED: there is no etcd of 3.7")
        sys.exit(0)
    unittest.main(verbosity=2)
