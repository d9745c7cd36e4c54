// Whom a member's transport is to know: the members that its state has, and before that those that
// it was told of at its start. With --force-new-cluster nobody, until the entries that remove the
// others are applied.
//
// Used while the member is put together, then by the apply executor only.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "proto/raft_types.h"
#include "server/replica/instance_options.h"
#include "server/state/membership.h"

namespace kvorum::server {

class KnownPeers {
 public:
  // `self` is this member, `remotes` whom it knows of before the log has told of them.
  KnownPeers(raft::MemberId self, std::vector<Member> remotes)
      : self_(self), remotes_(std::move(remotes)) {}

  // Refuses to run for a member that was removed. One that its own state does not know yet asks
  // again who the others are: they are not in its data.
  Result<void> Check(const MembershipView& view, std::uint64_t cluster_id,
                     const InstanceOptions& options);
  // Until this entry is applied there is nobody but us.
  void ForceAlone(raft::Index until) { forced_until_ = until; }

  std::shared_ptr<const MembershipView> View(std::shared_ptr<const MembershipView> view,
                                             raft::Index applied) const;

 private:
  const raft::MemberId self_;
  std::vector<Member> remotes_;
  raft::Index forced_until_ = 0;
};

}  // namespace kvorum::server
