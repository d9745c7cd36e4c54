// What --strict-reconfig-check asks of a change of the members before it is proposed: that enough
// of the members that will count are started, and are connected, so that the change does not cost
// the cluster its quorum. Judged by the member that is asked, by what it sees.
#pragma once

#include <cstddef>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "server/messages/member.h"
#include "server/peer/transport.h"

namespace kvorum::server {

// How long a peer must have been connected to count.
inline constexpr Duration kHealthInterval = std::chrono::seconds(5);

struct Connections {
  raft::MemberId self = raft::kNone;
  const Transport* transport = nullptr;
  TimePoint now;

  bool IsConnected(raft::MemberId id) const;  // for long enough
};

// kErrNotEnoughStarted, kErrUnhealthy.
Result<void> CheckStrictAdd(const MembershipView& view, const Member& added,
                            const Connections& connections);
Result<void> CheckStrictRemove(const MembershipView& view, raft::MemberId id,
                               const Connections& connections);
Result<void> CheckStrictPromote(const MembershipView& view);

}  // namespace kvorum::server
