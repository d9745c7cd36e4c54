"""The whole of a cluster's state, made and read through the API: keys, leases, users, roles, alarms, members."""

from etcd3.etcdrpc import auth_pb2, rpc_pb2, rpc_pb2_grpc

import pathlib
import sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import server  # noqa: E402


def fill(channel, round_number):
    """Versions, deletions, a compaction, leases, users and roles, about 200 entries of the log."""
    kv = server.kv(channel)
    leases = rpc_pb2_grpc.LeaseStub(channel)
    auth = rpc_pb2_grpc.AuthStub(channel)
    lease = leases.LeaseGrant(rpc_pb2.LeaseGrantRequest(TTL=3600 + round_number, ID=1000 + round_number), timeout=10)
    for i in range(150):
        server.put(kv, b"filled %d" % (i % 60), b"v" * (i * 5) + b"%d" % round_number,
                   lease=lease.ID if i % 20 == 0 else 0)
    for i in range(0, 60, 7):
        kv.DeleteRange(rpc_pb2.DeleteRangeRequest(key=b"filled %d" % i), timeout=10)
    server.put(kv, b"large %d" % round_number, b"x" * 1_000_000)
    name = f"user{round_number}"
    auth.UserAdd(rpc_pb2.AuthUserAddRequest(name=name, password="secret"), timeout=30)
    auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name=f"role{round_number}"), timeout=10)
    auth.RoleGrantPermission(rpc_pb2.AuthRoleGrantPermissionRequest(
        name=f"role{round_number}", perm=auth_pb2.Permission(permType=2, key=b"filled", range_end=b"g")), timeout=10)
    auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user=name, role=f"role{round_number}"), timeout=10)
    last = server.put(kv, b"filled last", b"").header.revision
    kv.Compact(rpc_pb2.CompactionRequest(revision=last - 30, physical=True), timeout=60)


def everything(channel, clients_keys=True, members=True):
    """As values that can be compared; without the keys that begin with k, where clients write."""
    rows = server.kv(channel).Range(rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0"), timeout=30).kvs
    leases = rpc_pb2_grpc.LeaseStub(channel)
    auth = rpc_pb2_grpc.AuthStub(channel)
    listed = leases.LeaseLeases(rpc_pb2.LeaseLeasesRequest(), timeout=10).leases
    granted = {}
    for each in sorted(lease.ID for lease in listed):
        told = leases.LeaseTimeToLive(rpc_pb2.LeaseTimeToLiveRequest(ID=each, keys=True), timeout=10)
        granted[each] = (told.grantedTTL, sorted(told.keys), told.TTL > told.grantedTTL - 600)
    users = {}
    for user in auth.UserList(rpc_pb2.AuthUserListRequest(), timeout=10).users:
        users[user] = list(auth.UserGet(rpc_pb2.AuthUserGetRequest(name=user), timeout=10).roles)
    roles = {}
    for role in auth.RoleList(rpc_pb2.AuthRoleListRequest(), timeout=10).roles:
        answer = auth.RoleGet(rpc_pb2.AuthRoleGetRequest(role=role), timeout=10)
        roles[role] = [(p.permType, p.key, p.range_end) for p in answer.perm]
    alarms = server.maintenance(channel).Alarm(rpc_pb2.AlarmRequest(action=rpc_pb2.AlarmRequest.GET), timeout=10).alarms
    answer = rpc_pb2_grpc.ClusterStub(channel).MemberList(rpc_pb2.MemberListRequest(), timeout=10)
    return {
        "rows": [(r.key, r.value, r.create_revision, r.mod_revision, r.version, r.lease) for r in rows
                 if clients_keys or not r.key.startswith(b"k")],
        "leases": granted,
        "users": users,
        "roles": roles,
        "alarms": [(a.memberID, a.alarm) for a in alarms],
        "members": sorted((m.ID, m.name, tuple(m.peerURLs), tuple(m.clientURLs)) for m in answer.members)
        if members else None,
    }
