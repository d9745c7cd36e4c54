// The calls of one request and one answer: a row each. Logging in is the caller's own task
// (caller.h).
#include "client/caller.h"
#include "client/client.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {

using etcdserverpb::Auth;
using etcdserverpb::Cluster;
using etcdserverpb::KV;
using etcdserverpb::Lease;
using etcdserverpb::Maintenance;

#define KV_CALL(Service, stub, Method, Name, repeat)                                              \
  Result<etcdserverpb::Name##Response> Client::Method(const etcdserverpb::Name##Request& request, \
                                                      const CallOptions& call) {                  \
    return caller_->Call(&Connection::stub, &Service::Stub::Method, Repeat::repeat, request,      \
                         call);                                                                   \
  }
// The request has nothing to say.
#define KV_EMPTY_CALL(Service, stub, Method, Name, repeat)                          \
  Result<etcdserverpb::Name##Response> Client::Method(const CallOptions& call) {    \
    return caller_->Call(&Connection::stub, &Service::Stub::Method, Repeat::repeat, \
                         etcdserverpb::Name##Request(), call);                      \
  }

KV_CALL(KV, kv, Range, Range, kRead)
KV_CALL(KV, kv, Put, Put, kWrite)
KV_CALL(KV, kv, DeleteRange, DeleteRange, kWrite)
KV_CALL(KV, kv, Compact, Compaction, kWrite)

KV_CALL(Lease, lease, LeaseGrant, LeaseGrant, kWrite)
KV_CALL(Lease, lease, LeaseTimeToLive, LeaseTimeToLive, kRead)
KV_EMPTY_CALL(Lease, lease, LeaseLeases, LeaseLeases, kRead)

KV_CALL(Cluster, cluster, MemberAdd, MemberAdd, kWrite)
KV_CALL(Cluster, cluster, MemberRemove, MemberRemove, kWrite)
KV_CALL(Cluster, cluster, MemberUpdate, MemberUpdate, kWrite)
KV_CALL(Cluster, cluster, MemberPromote, MemberPromote, kWrite)
KV_CALL(Cluster, cluster, MemberList, MemberList, kRead)

KV_EMPTY_CALL(Maintenance, maintenance, Status, Status, kRead)
KV_EMPTY_CALL(Maintenance, maintenance, Hash, Hash, kRead)
KV_CALL(Maintenance, maintenance, HashKV, HashKV, kRead)
KV_EMPTY_CALL(Maintenance, maintenance, Defragment, Defragment, kWrite)
KV_CALL(Maintenance, maintenance, MoveLeader, MoveLeader, kWrite)
KV_CALL(Maintenance, maintenance, Downgrade, Downgrade, kWrite)

KV_EMPTY_CALL(Auth, auth, AuthEnable, AuthEnable, kWrite)
KV_EMPTY_CALL(Auth, auth, AuthDisable, AuthDisable, kWrite)
KV_EMPTY_CALL(Auth, auth, AuthStatus, AuthStatus, kRead)
KV_CALL(Auth, auth, UserAdd, AuthUserAdd, kWrite)
KV_CALL(Auth, auth, UserGet, AuthUserGet, kRead)
KV_EMPTY_CALL(Auth, auth, UserList, AuthUserList, kRead)
KV_CALL(Auth, auth, UserDelete, AuthUserDelete, kWrite)
KV_CALL(Auth, auth, UserChangePassword, AuthUserChangePassword, kWrite)
KV_CALL(Auth, auth, UserGrantRole, AuthUserGrantRole, kWrite)
KV_CALL(Auth, auth, UserRevokeRole, AuthUserRevokeRole, kWrite)
KV_CALL(Auth, auth, RoleAdd, AuthRoleAdd, kWrite)
KV_CALL(Auth, auth, RoleGet, AuthRoleGet, kRead)
KV_EMPTY_CALL(Auth, auth, RoleList, AuthRoleList, kRead)
KV_CALL(Auth, auth, RoleDelete, AuthRoleDelete, kWrite)
KV_CALL(Auth, auth, RoleGrantPermission, AuthRoleGrantPermission, kWrite)
KV_CALL(Auth, auth, RoleRevokePermission, AuthRoleRevokePermission, kWrite)

#undef KV_EMPTY_CALL
#undef KV_CALL

Result<etcdserverpb::AlarmResponse> Client::AlarmList(const CallOptions& call) {
  etcdserverpb::AlarmRequest request;
  request.set_action(etcdserverpb::AlarmRequest::GET);
  return caller_->Call(&Connection::maintenance, &Maintenance::Stub::Alarm, Repeat::kRead, request,
                       call);
}

Result<etcdserverpb::AlarmResponse> Client::AlarmDisarmAll(const CallOptions& call) {
  KV_TRY(const etcdserverpb::AlarmResponse active, AlarmList(call));
  etcdserverpb::AlarmResponse all;
  for (const etcdserverpb::AlarmMember& alarm : active.alarms()) {
    etcdserverpb::AlarmRequest request;
    request.set_action(etcdserverpb::AlarmRequest::DEACTIVATE);
    request.set_memberid(alarm.memberid());
    request.set_alarm(alarm.alarm());
    KV_TRY(const etcdserverpb::AlarmResponse disarmed,
           caller_->Call(&Connection::maintenance, &Maintenance::Stub::Alarm, Repeat::kWrite,
                         request, call));
    all.mutable_alarms()->MergeFrom(disarmed.alarms());
  }
  return all;
}

}  // namespace kvorum::client
