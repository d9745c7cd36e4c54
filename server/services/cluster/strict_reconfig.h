// The checks of --strict-reconfig-check for a member change before it is proposed: enough of the
// voting members must be started and connected, so that the change does not cost the cluster its
// quorum. Decided by the member that is asked, by its own view.
#pragma once

#include <cstddef>
#include <optional>

#include "api/member.h"
#include "base/clock.h"
#include "base/error.h"
#include "server/peer/codec/transport.h"

namespace kvorum::server {

// The time that a peer must have been connected to count.
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
