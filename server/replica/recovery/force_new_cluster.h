// --force-new-cluster: the configuration changes that turn the log of a member of several into a
// cluster of one. Pure functions; the result is appended to the log and counts as committed, since
// no other member has a vote from then on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// All entries of the log count as committed, too: the hard state and the backend may not say so yet
// of what was acknowledged to clients last. The exception is a removal of this member that is not
// known to be committed, and what follows it. Returns the index of the last entry that counts.
Result<raft::Index> ForcedCommit(std::span<const raft::Entry> entries, raft::Index known_committed,
                                 raft::MemberId self);

struct ForcedFrom {
  MembershipView applied_view;  // the members at `applied`
  raft::Index applied = 0;
  std::span<const raft::Entry> entries{};  // up to `committed`; those past `applied` count
  raft::Index committed = 0;
  raft::Term term = 0;
  raft::MemberId self = raft::kNone;
  std::vector<std::string> own_peer_urls{};  // for a member that its own log does not know yet
};

// First this member becomes a voter if it is not one, then all others are removed: at no point is
// there a cluster without voters. Empty if it is already alone. kFailedPrecondition if it was
// removed; kDataLoss for a log that cannot be read.
Result<std::vector<raft::Entry>> MakeForcedChanges(const ForcedFrom& from);

}  // namespace kvorum::server
