// --force-new-cluster: the configuration changes that make a cluster of one member of the log of
// one of several. A pure function; what it returns is appended to the log and counts as committed,
// since nobody else has a say from then on. What was committed is what the hard state or the
// backend of this member says; the news of it may be up to a commit interval of the backend old.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "proto/raft_types.h"
#include "server/messages/member.h"

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

// First this member becomes a voter if it is none, then all others are removed: at no point is
// there a cluster without voters. Empty if it is alone already. kFailedPrecondition if it was
// removed; kDataLoss for a log that cannot be read.
Result<std::vector<raft::Entry>> MakeForcedChanges(const ForcedFrom& from);

}  // namespace kvorum::server
