// The Cluster service: who the members are, and changes of that.
//
// A change is checked here first (so that one that cannot be costs no log entry), goes through the
// log as one configuration change, is checked again when it is applied, and is answered with the
// members as they were then. What is checked is read behind a ReadIndex round, so that a change
// that this member has just not heard of yet is not refused for that.
#pragma once

#include <memory>

#include "rpc/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/call/service_context.h"
#include "server/state/member_change.h"

namespace kvorum::server {

class ClusterService {
 public:
  // The context outlives the service.
  explicit ClusterService(ServiceContext& context) : context_(context) {}
  void Register(rpc::Router& router);

  // Of the peer port too: a follower sends promotions on to the leader. The callback may run on any
  // thread. kErrNotLeader if this member does not lead.
  using MembersCallback =
      std::move_only_function<void(Result<std::shared_ptr<const MembershipView>> members)>;
  void PromoteAsLeader(raft::MemberId id, TimePoint deadline, MembersCallback callback);

 private:
  void MemberAdd(const rpc::CallContext& call, Received<MemberRequest> addition,
                 Reply<MemberAddResponse> reply);
  void MemberRemove(const rpc::CallContext& call, Received<raft::MemberId> member,
                    Reply<Members> reply);
  void MemberUpdate(const rpc::CallContext& call, Received<MemberRequest> update,
                    Reply<Members> reply);
  void MemberPromote(const rpc::CallContext& call, Received<raft::MemberId> member,
                     Reply<Members> reply);
  void MemberList(const rpc::CallContext& call, Received<bool> linearizable, Reply<Members> reply);

  void Promote(raft::MemberId id, TimePoint deadline, MembersCallback callback);
  // Proposes what still stands once everything before it is applied.
  void ReadThenChange(const rpc::CallContext& call, MemberChange change, MembersCallback callback);
  void Change(rpc::Loop* loop, const MemberChange& change, TimePoint deadline,
              MembersCallback callback);
  TimePoint Deadline() const;

  ServiceContext& context_;
};

}  // namespace kvorum::server
