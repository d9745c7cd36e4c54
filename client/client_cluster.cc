// The cluster and its members: the services Cluster and Maintenance.
#include "client/caller.h"
#include "client/client.h"
#include "proto/rpc.pb.h"

namespace kvorum::client {

using etcdserverpb::Cluster;
using etcdserverpb::Maintenance;

Result<etcdserverpb::MemberAddResponse> Client::MemberAdd(
    const etcdserverpb::MemberAddRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::cluster, &Cluster::Stub::MemberAdd, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::MemberRemoveResponse> Client::MemberRemove(
    const etcdserverpb::MemberRemoveRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::cluster, &Cluster::Stub::MemberRemove, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::MemberUpdateResponse> Client::MemberUpdate(
    const etcdserverpb::MemberUpdateRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::cluster, &Cluster::Stub::MemberUpdate, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::MemberPromoteResponse> Client::MemberPromote(
    const etcdserverpb::MemberPromoteRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::cluster, &Cluster::Stub::MemberPromote, Repeat::kWrite, request,
                       call);
}

Result<etcdserverpb::MemberListResponse> Client::MemberList(
    const etcdserverpb::MemberListRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::cluster, &Cluster::Stub::MemberList, Repeat::kRead, request,
                       call);
}

Result<etcdserverpb::StatusResponse> Client::Status(const CallOptions& call) {
  return caller_->Call(&Connection::maintenance, &Maintenance::Stub::Status, Repeat::kRead,
                       etcdserverpb::StatusRequest(), call);
}

Result<etcdserverpb::HashResponse> Client::Hash(const CallOptions& call) {
  return caller_->Call(&Connection::maintenance, &Maintenance::Stub::Hash, Repeat::kRead,
                       etcdserverpb::HashRequest(), call);
}

Result<etcdserverpb::HashKVResponse> Client::HashKV(const etcdserverpb::HashKVRequest& request,
                                                    const CallOptions& call) {
  return caller_->Call(&Connection::maintenance, &Maintenance::Stub::HashKV, Repeat::kRead, request,
                       call);
}

Result<etcdserverpb::DefragmentResponse> Client::Defragment(const CallOptions& call) {
  return caller_->Call(&Connection::maintenance, &Maintenance::Stub::Defragment, Repeat::kWrite,
                       etcdserverpb::DefragmentRequest(), call);
}

Result<etcdserverpb::MoveLeaderResponse> Client::MoveLeader(
    const etcdserverpb::MoveLeaderRequest& request, const CallOptions& call) {
  return caller_->Call(&Connection::maintenance, &Maintenance::Stub::MoveLeader, Repeat::kWrite,
                       request, call);
}

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
