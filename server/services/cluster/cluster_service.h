// The Cluster service: the members, and changes of them.
//
// A change is checked here first (so that an impossible one costs no log entry), goes through the
// log as one configuration change, is checked again when it is applied, and is answered with the
// members as they were then. The first check reads after a ReadIndex round, so that a change is not
// refused only because this member has not heard of an earlier one yet.
//
// Handlers may run on any I/O loop.
#pragma once

#include <memory>

#include "rpc/call/service.h"
#include "server/call/api.h"
#include "server/call/reply.h"
#include "server/state/member_change.h"

namespace kvorum::server {

class PromoteForwarder;
class Proposer;
class MethodRegistrar;
struct Reads;

class ClusterService {
 public:
  // All outlive the service. Without `promotions` only the leader promotes.
  ClusterService(Proposer& proposer, const Reads& reads, PromoteForwarder* promotions)
      : proposer_(proposer), reads_(reads), promotions_(promotions) {}
  void Register(MethodRegistrar& methods);

  // Also for the peer port: a follower forwards promotions to the leader. The callback may run on
  // any thread. kErrNotLeader if this member does not lead.
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
  // Proposes the change if it is still valid once everything before it is applied.
  void ReadThenChange(const rpc::CallContext& call, MemberChange change, MembersCallback callback);
  void Change(rpc::Loop* loop, MemberChange change, TimePoint deadline, MembersCallback callback);
  // The rules for an update that etcd does not have.
  Result<void> CheckUpdate(const MemberChange& change) const;
  TimePoint Deadline() const;

  Proposer& proposer_;
  const Reads& reads_;
  PromoteForwarder* const promotions_;
};

}  // namespace kvorum::server
