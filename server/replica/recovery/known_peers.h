// The members that a member's transport is to know: those of its state, and before that those that
// were configured at its start. With --force-new-cluster none, until the entries that remove the
// others are applied.
//
// Used while the member is put together, then by the apply executor only.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "proto/raft_types.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/state/membership.h"

namespace kvorum::server {

class KnownPeers {
 public:
  // `self` is this member, `remotes` the members known before the log has named them.
  KnownPeers(raft::MemberId self, std::vector<Member> remotes)
      : self_(self), remotes_(std::move(remotes)) {}

  // Refuses to run for a member that was removed. A member that its own state does not know yet
  // asks again for the others: they are not in its data.
  Result<void> Check(const MembershipView& view, std::uint64_t cluster_id,
                     const LocalMemberOptions& options);
  // Until this entry is applied there is no other member.
  void ForceAlone(raft::Index until) { forced_until_ = until; }

  std::shared_ptr<const MembershipView> View(std::shared_ptr<const MembershipView> view,
                                             raft::Index applied) const;

 private:
  const raft::MemberId self_;
  std::vector<Member> remotes_;
  raft::Index forced_until_ = 0;
};

}  // namespace kvorum::server
