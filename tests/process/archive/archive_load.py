"""Clients that change a cluster in every way that a log can hold, and the truth about it: what each revision's keys were
(by a watch of every change), hashes of the store, users, roles and leases at moments, and which revision was
acknowledged when.
"""

import bisect
import contextlib
import dataclasses
import json
import pathlib
import random
import sys
import threading
import time
import urllib.request

import grpc
from etcd3.etcdrpc import rpc_pb2, rpc_pb2_grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cluster  # noqa: E402
import server  # noqa: E402

PREFIX, PREFIX_END = b"m/", b"m0"
KEYS = [PREFIX + b"%03d" % number for number in range(150)]
CALL_SECONDS = 3
# Not ended by time within a test; others may be.
LONG_TTL_S = 3600
USERS = ["ann", "bob", "eve"]
ROLES = ["reader", "writer"]

put_op = rpc_pb2.PutRequest
delete_op = rpc_pb2.DeleteRangeRequest


class Changes:
    """Every change of the keys below PREFIX, by a watch that goes on through another member when one ends."""

    def __init__(self, endpoints):
        self.endpoints = list(endpoints)
        self.seen = 0  # the revision of the newest event
        self.error = None
        self._events = []  # (revision, key, what at() says of it, or None), by revision
        self._revisions = []
        self._stops = threading.Event()
        self._call = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        turn = 0
        while not self._stops.is_set() and self.error is None:
            turn += 1
            with cluster.channel_to(self.endpoints[turn % len(self.endpoints)]) as channel:
                try:
                    self._follow(channel)
                except grpc.RpcError:
                    self._stops.wait(0.05)

    def _follow(self, channel):
        request = rpc_pb2.WatchRequest(create_request=rpc_pb2.WatchCreateRequest(
            key=PREFIX, range_end=PREFIX_END, start_revision=self.seen + 1))
        ends = threading.Event()

        def requests():
            yield request
            ends.wait()
        self._call = rpc_pb2_grpc.WatchStub(channel).Watch(requests())
        try:
            for response in self._call:
                if response.canceled:
                    self.error = f"the watch from {self.seen + 1} on: {response.cancel_reason}, {response.compact_revision}"
                    return
                self._take(response.events)
                if self._stops.is_set():
                    return
        finally:
            ends.set()

    def _take(self, events):
        for event in events:
            kv = event.kv
            kept = None if event.type == 1 else (kv.value, kv.create_revision, kv.mod_revision, kv.version, kv.lease)
            self._events.append((kv.mod_revision, kv.key, kept))
            self._revisions.append(kv.mod_revision)
        if events:
            self.seen = events[-1].kv.mod_revision

    def wait(self, revision):
        cluster.wait_until(lambda: self.error or self.seen >= revision, f"the watch to see revision {revision}", 30)
        assert self.error is None, self.error

    def at(self, revision):
        """The keys of that revision: key -> value, create revision, mod revision, version, lease."""
        keys = {}
        for _, key, kept in self._events[:bisect.bisect_right(self._revisions, revision)]:
            if kept is None:
                keys.pop(key, None)
            else:
                keys[key] = kept
        return keys

    def revisions(self):
        """Those that changed a key here."""
        return sorted(set(self._revisions))

    def stop(self):
        self._stops.set()
        if self._call is not None:
            self._call.cancel()
        self._thread.join()


class Acknowledged:
    """When which revision was acknowledged. Wall clock: seconds."""

    def __init__(self):
        self._lock = threading.Lock()
        self._calls = []  # (began, ended, revision)

    def add(self, began, ended, revision):
        with self._lock:
            self._calls.append((began, ended, revision))

    def _all(self):
        with self._lock:
            return list(self._calls)

    @property
    def count(self):
        return len(self._calls)

    def at(self, moment):
        """The newest revision that was acknowledged by then."""
        return max((revision for _, ended, revision in self._all() if ended <= moment), default=0)

    def first_behind(self, moment):
        """The lowest revision of a call that began later; None: there is none."""
        return min((revision for began, _, revision in self._all() if began > moment), default=None)

    def behind(self, revision, moment):
        """Seconds for which acknowledged writes above the revision had been waiting at that moment."""
        oldest = min((ended for _, ended, each in self._all() if each > revision), default=moment)
        return max(0.0, moment - oldest)


class Writer(threading.Thread):
    """One change after the other; after a failure through the next member."""

    KINDS = {"put": 40, "leased_put": 10, "txn": 15, "delete": 8, "delete_range": 2, "grant": 6, "grant_short": 1,
             "revoke": 3, "compact": 1, "user_or_role": 6}

    def __init__(self, load, number):
        super().__init__(name=f"writer-{number}")
        self.load = load
        self.number = number
        self.rng = random.Random(load.seed * 100 + number)
        self.leases = []
        self.count = 0
        self.error = None
        self.is_idle = threading.Event()

    def run(self):
        turn = self.number
        endpoints = self.load.endpoints
        try:
            while not self.load.stops.is_set():
                with cluster.channel_to(endpoints[turn % len(endpoints)]) as channel:
                    try:
                        self.go_on(channel)
                    except grpc.RpcError as error:
                        if error.code() not in (*cluster.UNKNOWN_OUTCOME, grpc.StatusCode.CANCELLED):
                            raise
                        turn += 1
                        time.sleep(0.01)
        except Exception as error:  # a refusal that makes no sense ends the test, not only the thread
            self.error = error
        finally:
            self.is_idle.set()

    def go_on(self, channel):
        self.kv, self.lease = server.kv(channel), rpc_pb2_grpc.LeaseStub(channel)
        self.auth = rpc_pb2_grpc.AuthStub(channel)
        while not self.load.stops.is_set():
            if self.load.rests.is_set():
                self.is_idle.set()
                time.sleep(0.005)
                continue
            self.is_idle.clear()
            if self.load.rests.is_set():  # it began in between: no thread waits for us yet
                continue
            kind = self.rng.choices(list(self.KINDS), list(self.KINDS.values()))[0]
            getattr(self, kind)()
            self.count += 1
            if self.load.pause_s:
                time.sleep(self.load.pause_s)

    def call(self, method, request, *refusals):
        """The answer, with the revision noted; None: it was refused with one of these codes."""
        began = time.time()
        try:
            answer = method(request, timeout=CALL_SECONDS)
        except grpc.RpcError as error:
            if error.code() in refusals:
                return None
            raise
        self.load.acknowledged.add(began, time.time(), answer.header.revision)
        return answer

    def key(self):
        return self.rng.choice(KEYS)

    def value(self):
        return b"%d.%d." % (self.number, self.count) + b"x" * self.rng.choice((0, 10, 100, 1000))

    def put(self):
        self.call(self.kv.Put, put_op(key=self.key(), value=self.value()))

    def leased_put(self):
        if self.leases:
            lease = self.rng.choice(self.leases)
            # A revoke whose outcome was unknown, or its time, may have ended it.
            if self.call(self.kv.Put, put_op(key=self.key(), value=self.value(), lease=lease),
                         grpc.StatusCode.NOT_FOUND) is None:
                self.leases.remove(lease)

    def txn(self):
        one, other, third = self.rng.sample(KEYS, 3)
        compare = rpc_pb2.Compare(result=rpc_pb2.Compare.GREATER, target=rpc_pb2.Compare.VERSION, key=one,
                                  version=self.rng.randrange(3))
        self.call(self.kv.Txn, rpc_pb2.TxnRequest(
            compare=[compare],
            success=[rpc_pb2.RequestOp(request_put=put_op(key=other, value=self.value())),
                     rpc_pb2.RequestOp(request_delete_range=delete_op(key=third))],
            failure=[rpc_pb2.RequestOp(request_put=put_op(key=one, value=self.value()))]))

    def delete(self):
        self.call(self.kv.DeleteRange, delete_op(key=self.key()))

    def delete_range(self):
        first = self.key()
        self.call(self.kv.DeleteRange, delete_op(key=first, range_end=first[:-1] + b":"))

    def grant(self, ttl=LONG_TTL_S):
        self.leases.append(self.call(self.lease.LeaseGrant, rpc_pb2.LeaseGrantRequest(TTL=ttl)).ID)

    def grant_short(self):
        self.grant(ttl=2)

    def revoke(self):
        if len(self.leases) > 3:
            lease = self.leases.pop(self.rng.randrange(len(self.leases)))
            self.call(self.lease.LeaseRevoke, rpc_pb2.LeaseRevokeRequest(ID=lease), grpc.StatusCode.NOT_FOUND)

    def compact(self):
        revision = self.load.changes.seen - self.load.kept_revisions
        if revision > 0:
            # Another one may have been further, and one of an unknown outcome may have been made.
            self.call(self.kv.Compact, rpc_pb2.CompactionRequest(revision=revision, physical=self.rng.random() < 0.3),
                      grpc.StatusCode.OUT_OF_RANGE)

    def user_or_role(self):
        user, role = self.rng.choice(USERS), self.rng.choice(ROLES)
        method, request = self.rng.choice((
            ("UserAdd", rpc_pb2.AuthUserAddRequest(name=user, password="secret of " + user)),
            ("UserChangePassword", rpc_pb2.AuthUserChangePasswordRequest(name=user, password="other")),
            ("UserGrantRole", rpc_pb2.AuthUserGrantRoleRequest(user=user, role=role)),
            ("UserRevokeRole", rpc_pb2.AuthUserRevokeRoleRequest(name=user, role=role)),
            ("UserDelete", rpc_pb2.AuthUserDeleteRequest(name=user)),
            ("RoleAdd", rpc_pb2.AuthRoleAddRequest(name=role)),
            ("RoleGrantPermission", rpc_pb2.AuthRoleGrantPermissionRequest(
                name=role, perm={"permType": self.rng.randrange(3), "key": self.key(), "range_end": b""})),
            ("RoleDelete", rpc_pb2.AuthRoleDeleteRequest(role=role))))
        # It may be there already, or not be there.
        self.call(getattr(self.auth, method), request, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT)


@dataclasses.dataclass
class Truth:
    """The store at one revision, by a member's own word."""
    revision: int
    hash: int
    compact_revision: int
    # Of a moment in which nothing changed: the wall clock's seconds, and what state_of() says.
    moment: float = None
    state: dict = None


def hash_of(endpoint, revision):
    """(hash, compact revision) of the store up to there; None: it has been compacted, or no member answers."""
    with cluster.channel_to(endpoint) as channel:
        try:
            answer = server.maintenance(channel).HashKV(rpc_pb2.HashKVRequest(revision=revision), timeout=10)
            return answer.hash, answer.compact_revision
        except grpc.RpcError as error:
            if error.code() in (*cluster.UNKNOWN_OUTCOME, grpc.StatusCode.OUT_OF_RANGE):
                return None
            raise


def of_gateway(endpoint, path, message):
    request = urllib.request.Request(f"http://{endpoint}{path}", data=json.dumps(message).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


def state_of(endpoint):
    """Users with their roles, roles with their permissions, leases with their keys and times: all that is not a key."""
    with cluster.channel_to(endpoint) as channel:
        auth, leases = rpc_pb2_grpc.AuthStub(channel), rpc_pb2_grpc.LeaseStub(channel)
        users = {name: sorted(auth.UserGet(rpc_pb2.AuthUserGetRequest(name=name), timeout=10).roles)
                 for name in auth.UserList(rpc_pb2.AuthUserListRequest(), timeout=10).users}
        roles = {name: sorted((perm.permType, perm.key, perm.range_end) for perm in
                              auth.RoleGet(rpc_pb2.AuthRoleGetRequest(role=name), timeout=10).perm)
                 for name in auth.RoleList(rpc_pb2.AuthRoleListRequest(), timeout=10).roles}
        lasting = {}
        for each in leases.LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=10).leases:
            lease = leases.LeaseTimeToLive(rpc_pb2.LeaseTimeToLiveRequest(ID=each.ID, keys=True), timeout=10)
            # One that is about to end may end in between.
            if lease.grantedTTL == LONG_TTL_S:
                lasting[lease.ID] = sorted(lease.keys)
                assert 0 < lease.TTL <= lease.grantedTTL, lease
    auth_revision = of_gateway(endpoint, "/v3/auth/status", {}).get("authRevision")
    return {"users": users, "roles": roles, "auth revision": auth_revision, "leases": lasting}


class Load:
    """Writers and the watch of a cluster, until stop()."""

    def __init__(self, members, seed=1, writers=3, pause_s=0.002, kept_revisions=300):
        self.members = members
        self.kept_revisions = kept_revisions  # that no compaction takes of those that the watch has seen
        self.seed = seed
        self.pause_s = pause_s  # of each writer, after each change
        self.endpoints = members.endpoints
        self.acknowledged = Acknowledged()
        self.stops = threading.Event()
        self.rests = threading.Event()
        self.changes = Changes(self.endpoints)
        self.writers = [Writer(self, number) for number in range(writers)]
        for writer in self.writers:
            writer.start()

    def check(self):
        for writer in self.writers:
            if writer.error is not None:
                raise writer.error
        assert self.changes.error is None, self.changes.error

    def wait_more(self, count, timeout=60):
        goal = self.acknowledged.count + count

        def is_there():
            self.check()
            return self.acknowledged.count >= goal
        cluster.wait_until(is_there, f"{count} more changes", timeout)

    @contextlib.contextmanager
    def rest(self):
        """Nothing is under way, but for short leases that end."""
        for writer in self.writers:
            writer.is_idle.clear()
        self.rests.set()
        try:
            cluster.wait_until(lambda: all(writer.is_idle.is_set() or not writer.is_alive() for writer in self.writers),
                               "the writers to rest")
            self.check()
            yield
        finally:
            self.rests.clear()

    def put(self, key, value):
        """The revision of a put that is tried until it is acknowledged."""
        def attempt():
            began = time.time()
            with self.members.leader().channel() as channel:
                try:
                    revision = server.put(server.kv(channel), key, value).header.revision
                except grpc.RpcError:
                    return None
            self.acknowledged.add(began, time.time(), revision)
            return revision
        return cluster.wait_until(attempt, "a put")

    def sample(self):
        """The store at a revision of now, while all goes on; None where a compaction or a fault came in between."""
        member = random.choice(self.members.alive)
        status = member.status()
        found = status and hash_of(member.endpoint, status.header.revision)
        return found and Truth(status.header.revision, *found)

    def milestone(self, name, hold_s=0.4):
        """A moment in which nothing changes, whose first entry holds all that was done before. It is held for so long,
        and is in the middle of that."""
        while True:
            with self.rest():
                revision = self.put(PREFIX + b"milestone", name.encode())
                leader = self.members.leader()
                found, state = hash_of(leader.endpoint, revision), state_of(leader.endpoint)
                time.sleep(hold_s)
                moment = time.time()
                time.sleep(hold_s)
                status = leader.status()
                # A lease may have ended, or the leader.
                if found and status and status.header.revision == revision:
                    return Truth(revision, *found, moment=moment, state=state)

    def stop(self):
        self.stops.set()
        for writer in self.writers:
            writer.join()
        self.check()

    def close(self):
        self.stops.set()
        for writer in self.writers:
            writer.join()
        self.changes.stop()
