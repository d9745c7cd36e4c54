#include "server/replica/drive/timeout_cause.h"

#include <cstddef>

#include "base/api_errors.h"
#include "base/majority.h"
#include "raft/node.h"
#include "server/peer/codec/transport.h"

namespace kvorum::server {

Error TimeoutCause::Explain(const raft::Node& node, const Transport& transport,
                            TimePoint now) const {
  const TimePoint asked = now - request_timeout_;
  const auto was_connected = [&](raft::MemberId peer) {
    const auto active = transport.ActiveSince(peer);
    return active.has_value() && *active < asked;
  };
  if (asked > elected_ - 2 * election_timeout_ && asked < elected_)
    return kErrTimeoutDueToLeaderFail.ToError();
  const raft::MemberId leader = node.leader();
  if (leader == raft::kNone) return kErrTimeout.ToError();
  if (leader != node.id())
    return (was_connected(leader) ? kErrTimeout : kErrTimeoutDueToConnectionLost).ToError();
  std::size_t members = 0;
  std::size_t connected = 0;
  for (const auto& [id, progress] : node.tracker().progress()) {
    ++members;
    if (id == node.id() || was_connected(id)) ++connected;
  }
  return (connected >= Majority(members) ? kErrTimeout : kErrTimeoutDueToConnectionLost).ToError();
}

}  // namespace kvorum::server
