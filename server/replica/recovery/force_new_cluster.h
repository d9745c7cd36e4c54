// --force-new-cluster: the configuration changes that turn the log of a member of several into a
// cluster of one. A pure function; its result is appended to the log and counts as committed, since
// no other member has a vote from then on. Entries are committed if this member's hard state or
// backend says so; that may be out of date by up to a commit interval of the backend.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

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
