"""Users, roles and permissions beside the packaged etcd: the same random requests to both, in the name of the same
users, with the same tokens (each server's own). Every request must get the same verdict, error for error, and every
answer must be the same, ids of clusters and members aside.

What differs on purpose (docs/compatibility.md) is not asked of 3.4, which knows less of auth than later ones do: it asks
for no login for leases, compactions, statuses and lists of members, checks nothing within a nested txn, grants ranges that end
before they begin, and sorts the permissions of equal keys otherwise.

KVORUM_DIFFERENTIAL_ETCD names another etcd than the packaged one; KVORUM_DIFFERENTIAL_SEED another seed.
"""

import os
import pathlib
import random
import sys
import threading
import unittest

import grpc
from etcd3.etcdrpc import auth_pb2, rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import server  # noqa: E402
import watch_differential_test  # noqa: E402

SEED = int(os.environ.get("KVORUM_DIFFERENTIAL_SEED", "1"))
STEPS = int(os.environ.get("KVORUM_DIFFERENTIAL_STEPS", "2500"))
USERS = ["root", "u1", "u2", "u3", "nobody", ""]
ROLES = ["root", "r1", "r2", "r3", "none", ""]
PASSWORDS = ["p", "q", ""]
KEYS = [b"a", b"a\0", b"aa", b"b", b"bb", b"c", b"\xff", b"\0"]
ENDS = [b"", b"", b"\0", b"a", b"aa", b"ab", b"b", b"b\0", b"c", b"d", b"\xff\xff"]
# The tokens that a request may show, but those of users.
NO_TOKEN = None
WRONG_TOKEN = "wrong.1"


def strip(message):
    """A response without what is each server's own."""
    if "header" in message.DESCRIPTOR.fields_by_name:
        message.ClearField("header")
    if isinstance(message, rpc_pb2.AuthenticateResponse):
        message.token = ""
    if isinstance(message, rpc_pb2.AuthRoleGetResponse):  # 3.4 has another order where keys are equal
        return sorted(perm.SerializeToString(deterministic=True) for perm in message.perm)
    return message.SerializeToString(deterministic=True)


class Side:
    def __init__(self, test, name, endpoint):
        self.name = name
        self.channel = cluster.channel_to(endpoint)
        test.addCleanup(self.channel.close)
        self.kv = server.kv(self.channel)
        self.auth = rpc_pb2_grpc.AuthStub(self.channel)
        self.leases = rpc_pb2_grpc.LeaseStub(self.channel)
        self.watch = rpc_pb2_grpc.WatchStub(self.channel)
        self.members = rpc_pb2_grpc.ClusterStub(self.channel)
        self.maintenance = server.maintenance(self.channel)
        self.tokens = {WRONG_TOKEN: WRONG_TOKEN}

    def try_get(self):
        try:
            return server.get(self.kv, b"x") is not None
        except grpc.RpcError:  # not yet
            return False

    def metadata(self, who):
        return [] if who is NO_TOKEN else [("token", self.tokens[who])]

    def ask(self, who, call, request):
        try:
            return ("answer", strip(call(self)(request, metadata=self.metadata(who), timeout=30)))
        except grpc.RpcError as error:
            return ("error", error.code(), error.details())

    def log_in(self, name, password):
        try:
            answer = self.auth.Authenticate(rpc_pb2.AuthenticateRequest(name=name, password=password), timeout=30)
        except grpc.RpcError as error:
            return ("error", error.code(), error.details())
        self.tokens[name] = answer.token
        return ("answer",)

    def create_watcher(self, who, create):
        """The server's responses about one watcher: created, canceled, and why."""
        end = threading.Event()

        def requests():
            yield rpc_pb2.WatchRequest(create_request=create)
            end.wait()
        call = self.watch.Watch(requests(), metadata=self.metadata(who), timeout=30)
        try:
            response = next(call)
            return (response.created, response.canceled, response.watch_id, response.cancel_reason)
        except grpc.RpcError as error:
            return ("error", error.code(), error.details())
        finally:
            end.set()
            call.cancel()


class AuthDifferentialTest(unittest.TestCase):
    def setUp(self):
        member = server.Server("--bcrypt-cost", "4")
        self.addCleanup(member.close)
        member.start()
        etcd = watch_differential_test.Etcd(self, "--bcrypt-cost=4")
        self.sides = [Side(self, "kvorum", member.endpoint), Side(self, "etcd", etcd.endpoint)]
        for side in self.sides:
            cluster.wait_until(side.try_get, f"{side.name} to serve")
        version = self.sides[1].maintenance.Status(rpc_pb2.StatusRequest()).version
        self.is_old = version.startswith("3.4.")
        self.random = random.Random(SEED)
        self.known = set()  # whose tokens there are
        self.verdicts = {}
        self.is_on = False
        self.empty_ranges = 0
        self.granted = {}  # the ranges of each role

    def both(self, what, ask):
        results = [ask(side) for side in self.sides]
        self.assertEqual(results[0], results[1], what)
        verdict = results[0][2] if results[0][0] == "error" else results[0][0]
        self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
        return results[0]

    def ask(self, who, call, request):
        return self.both(f"{who}: {request!r}", lambda side: side.ask(who, call, request))

    def pick(self, choices):
        return self.random.choice(choices)

    def who(self):
        known = sorted(self.known)
        if not known or self.random.random() < 0.1:
            # 3.4 refuses a wrong token while nobody needs one.
            return self.pick([NO_TOKEN, WRONG_TOKEN]) if self.is_on or not self.is_old else NO_TOKEN
        if "root" in known and self.random.random() < 0.25:
            return "root"
        return self.pick(known)

    def log_in(self, name, password):
        if self.both(f"{name} logs in", lambda side: side.log_in(name, password)) == ("answer",):
            self.known.add(name)

    # ---- requests ----

    def range_of_keys(self, who):
        """The empty key, ranges without keys, and ranges that end before they begin, too."""
        # The verdict on these comes from the shape of a tree, which grew otherwise in 3.4, unless nobody is asked.
        tree_decides = self.is_on and who in self.known and who != "root"
        while True:
            key, end = self.pick([*KEYS, b""]), self.pick(ENDS)
            if end in (b"", b"\0") or key < end or not self.is_old or not tree_decides:
                self.empty_ranges += bool(key) and end not in (b"", b"\0") and key >= end
                return key, end

    def permission(self):
        while True:
            key, end = (self.pick([*KEYS, b""]), self.pick(ENDS))
            is_sound = key and (end in (b"", b"\0") or key < end)
            if is_sound or not self.is_old:
                kind = self.pick([auth_pb2.Permission.READ, auth_pb2.Permission.WRITE, auth_pb2.Permission.READWRITE])
                return auth_pb2.Permission(permType=kind, key=key, range_end=end)

    def put(self, in_txn=False):
        fields = {}
        if in_txn and self.is_old:  # looks at neither there
            pass
        elif self.random.random() < 0.3:
            fields["prev_kv"] = True
        elif self.random.random() < 0.3:
            fields["lease"] = self.random.randint(1, 4)
        return rpc_pb2.PutRequest(key=self.pick([*KEYS, b""]), value=b"v", **fields)

    def range(self, who):
        key, end = self.range_of_keys(who)
        return rpc_pb2.RangeRequest(key=key, range_end=end, serializable=self.random.random() < 0.3)

    def delete(self, who):
        key, end = self.range_of_keys(who)
        return rpc_pb2.DeleteRangeRequest(key=key, range_end=end, prev_kv=self.random.random() < 0.3)

    def op(self, who, depth):
        kind = self.random.randrange(4 if depth < 2 and not self.is_old else 3)
        if kind == 0:
            return rpc_pb2.RequestOp(request_range=self.range(who))
        if kind == 1:
            return rpc_pb2.RequestOp(request_put=self.put(in_txn=True))
        if kind == 2:
            return rpc_pb2.RequestOp(request_delete_range=self.delete(who))
        return rpc_pb2.RequestOp(request_txn=self.txn(who, depth + 1))

    def txn(self, who, depth=0):
        txn = rpc_pb2.TxnRequest()
        for _ in range(self.random.randrange(2)):
            key, end = self.range_of_keys(who)
            txn.compare.add(result=rpc_pb2.Compare.GREATER, target=rpc_pb2.Compare.VERSION, key=key, range_end=end,
                            version=0)
        # One each: two of them could put one key.
        for branch in (txn.success, txn.failure):
            if self.random.random() < 0.7:
                branch.append(self.op(who, depth))
        return txn

    def step_on_keys(self):
        who = self.who()
        kind = self.random.randrange(12)
        if kind < 3:
            self.ask(who, lambda side: side.kv.Range, self.range(who))
        elif kind < 6:
            self.ask(who, lambda side: side.kv.Put, self.put())
        elif kind < 7:
            self.ask(who, lambda side: side.kv.DeleteRange, self.delete(who))
        elif kind < 10:
            self.ask(who, lambda side: side.kv.Txn, self.txn(who))
        else:
            key, end = self.range_of_keys(who)
            create = rpc_pb2.WatchCreateRequest(key=key, range_end=end)
            if self.is_old and end == b"\0":  # checked as if it were one key
                return
            self.both(f"{who} watches {key!r} to {end!r}", lambda side: side.create_watcher(who, create))

    def step_on_leases(self):
        who = self.who()
        lease = self.random.randint(1, 4)
        if self.is_old and who not in self.known:
            return
        kind = self.random.randrange(4)
        if kind == 0:
            self.ask(who, lambda side: side.leases.LeaseGrant, rpc_pb2.LeaseGrantRequest(ID=lease, TTL=10_000))
        elif kind == 1:
            self.ask(who, lambda side: side.leases.LeaseRevoke, rpc_pb2.LeaseRevokeRequest(ID=lease))
        elif kind == 2 and not self.is_old:
            results = []

            def ttl(side):
                call = side.leases.LeaseTimeToLive
                request = rpc_pb2.LeaseTimeToLiveRequest(ID=lease, keys=True)
                try:
                    answer = call(request, metadata=side.metadata(who), timeout=30)
                    results.append(sorted(answer.keys))
                    return ("answer", sorted(answer.keys), answer.grantedTTL)
                except grpc.RpcError as error:
                    return ("error", error.code(), error.details())
            self.both(f"{who} asks for the keys of {lease}", ttl)

    def step_on_others(self):
        who = self.who()
        if self.is_old:
            self.ask(who, lambda side: side.auth.RoleList, rpc_pb2.AuthRoleListRequest())
        elif self.random.random() < 0.5:
            self.ask(who, lambda side: side.kv.Compact, rpc_pb2.CompactionRequest(revision=0))
        else:
            def members(side):
                result = side.ask(who, lambda s: s.members.MemberList, rpc_pb2.MemberListRequest())
                return ("answer",) if result[0] == "answer" else result
            self.both(f"{who} lists members", members)

    def step_on_users(self):
        who = self.who()
        if self.random.random() < 0.7 and "root" in self.known:
            who = "root"
        user, role = self.pick(USERS), self.pick(ROLES)
        if user == "root" and self.random.random() < 0.8:  # seldom, so that it goes on
            user = "u1"
        kind = self.random.randrange(15)
        auth = lambda method: lambda side: getattr(side.auth, method)
        if kind == 0:
            request = rpc_pb2.AuthUserAddRequest(name=user, password=self.pick(PASSWORDS))
            self.ask(who, auth("UserAdd"), request)
        elif kind == 1:
            self.ask(who, auth("UserGet"), rpc_pb2.AuthUserGetRequest(name=user))
        elif kind == 2:
            self.ask(who, auth("UserList"), rpc_pb2.AuthUserListRequest())
        elif kind == 3:
            if self.random.random() < 0.5:
                self.ask(who, auth("UserDelete"), rpc_pb2.AuthUserDeleteRequest(name=user))
        elif kind == 4:
            # Root's stays what it is: nobody else could go on.
            if user != "root":
                request = rpc_pb2.AuthUserChangePasswordRequest(name=user, password=self.pick(PASSWORDS[:2]))
                self.ask(who, auth("UserChangePassword"), request)
        elif kind in (5, 6):
            self.ask(who, auth("UserGrantRole"), rpc_pb2.AuthUserGrantRoleRequest(user=user, role=role))
        elif kind == 7:
            self.ask(who, auth("UserRevokeRole"), rpc_pb2.AuthUserRevokeRoleRequest(name=user, role=role))
        elif kind == 8:
            self.ask(who, auth("RoleAdd"), rpc_pb2.AuthRoleAddRequest(name=role))
        elif kind == 9:
            if self.is_old and role == "root":  # shows nothing of it
                return
            self.ask(who, auth("RoleGet"), rpc_pb2.AuthRoleGetRequest(role=role))
        elif kind == 10:
            if self.random.random() < 0.5:
                if self.ask(who, auth("RoleDelete"), rpc_pb2.AuthRoleDeleteRequest(role=role))[0] == "answer":
                    self.granted.pop(role, None)
        elif kind == 11:
            permission = self.permission()
            if b"\xff" in permission.key + permission.range_end:  # strings, to the packaged messages
                return
            request = rpc_pb2.AuthRoleRevokePermissionRequest(role=role, key=permission.key,
                                                              range_end=permission.range_end)
            if self.ask(who, auth("RoleRevokePermission"), request)[0] == "answer":
                self.granted[role].discard((permission.key, permission.range_end))
        else:
            permission = self.permission()
            granted = self.granted.setdefault(role, set())
            # Granted anew, a range that is not the first of its key is twice in the role: 3.4 sorts otherwise.
            if self.is_old and (permission.key, permission.range_end) in granted:
                return
            request = rpc_pb2.AuthRoleGrantPermissionRequest(name=role, perm=permission)
            if self.ask(who, auth("RoleGrantPermission"), request)[0] == "answer":
                granted.add((permission.key, permission.range_end))

    def step(self):
        chance = self.random.random()
        if chance < 0.35:
            self.step_on_users()
        elif chance < 0.42:
            self.log_in(self.pick(USERS), self.pick(PASSWORDS))
        elif chance < 0.5:
            self.step_on_leases()
        elif chance < 0.52:
            self.step_on_others()
        else:
            self.step_on_keys()

    def make_root(self):
        """Whatever has become of it."""
        auth = lambda method: lambda side: getattr(side.auth, method)
        self.ask(NO_TOKEN, auth("UserAdd"), rpc_pb2.AuthUserAddRequest(name="root", password="p"))
        self.ask(NO_TOKEN, auth("UserChangePassword"),
                 rpc_pb2.AuthUserChangePasswordRequest(name="root", password="p"))
        self.ask(NO_TOKEN, auth("RoleAdd"), rpc_pb2.AuthRoleAddRequest(name="root"))
        self.ask(NO_TOKEN, auth("UserGrantRole"), rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"))

    def test_same_verdicts(self):
        for _ in range(200):  # while auth is off
            self.step()
        for _ in range(3):
            self.make_root()
            self.assertEqual(self.ask(NO_TOKEN, lambda side: side.auth.AuthEnable,
                                      rpc_pb2.AuthEnableRequest())[0], "answer")
            self.is_on = True
            self.log_in("root", "p")
            for _ in range(STEPS // 3):
                self.step()
            self.assertEqual(self.ask("root", lambda side: side.auth.AuthDisable,
                                      rpc_pb2.AuthDisableRequest())[0], "answer")
            self.known.clear()
            self.is_on = False
            for _ in range(50):
                self.step()
        whole = rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0")
        self.ask(NO_TOKEN, lambda side: side.kv.Range, whole)
        print(self.verdicts)
        for verdict in ("answer", "etcdserver: permission denied", "etcdserver: invalid auth token",
                        "etcdserver: user name is empty", "etcdserver: key is not provided"):
            self.assertGreater(self.verdicts.get(verdict, 0), 20, verdict)
        self.assertGreater(self.empty_ranges, 50)


if __name__ == "__main__":
    unittest.main()
