#include "server/services/cluster/strict_reconfig.h"

#include <algorithm>

#include "base/api_errors.h"
#include "base/majority.h"

namespace kvorum::server {
namespace {

struct Voters {
  std::size_t all = 0;
  std::size_t started = 0;
  std::size_t connected = 0;

  bool has_started_quorum() const { return started >= Majority(all); }
};

Voters CountVoters(const MembershipView& view, const Connections& connections,
                   raft::MemberId without = raft::kNone) {
  Voters voters;
  for (const auto& [id, member] : view.members) {
    if (member.is_learner || id == without) continue;
    ++voters.all;
    if (member.started()) ++voters.started;
    if (connections.IsConnected(id)) ++voters.connected;
  }
  return voters;
}

}  // namespace

bool Connections::IsConnected(raft::MemberId id) const {
  if (id == self) return true;
  if (transport == nullptr) return false;
  const auto since = transport->ActiveSince(id);
  return since.has_value() && *since < now - kHealthInterval;
}

Result<void> CheckStrictAdd(const MembershipView& view, const Member& added,
                            const Connections& connections) {
  const Voters voters = CountVoters(view, connections);
  if (!added.is_learner) {
    const Voters after{.all = voters.all + 1, .started = voters.started, .connected = 0};
    // A cluster of one may grow: its data was restored, and there is no other member.
    const bool is_lone = voters.started == 1 && voters.all == 1;
    if (!is_lone && !after.has_started_quorum()) return kErrNotEnoughStarted.Fail();
  }
  // The new member counts as unreachable. A single member may always add another.
  const std::size_t quorum = Majority(voters.all + 1);
  if (voters.all != 1 && voters.connected < quorum) return kErrUnhealthy.Fail();
  return {};
}

Result<void> CheckStrictRemove(const MembershipView& view, raft::MemberId id,
                               const Connections& connections) {
  const auto member = view.members.find(id);
  if (member != view.members.end() && member->second.is_learner) return {};
  if (!CountVoters(view, connections, id).has_started_quorum()) return kErrNotEnoughStarted.Fail();
  // A member that is down is not part of the working quorum.
  const bool is_down =
      id != connections.self &&
      (connections.transport == nullptr || !connections.transport->ActiveSince(id).has_value());
  if (is_down) return {};
  const Voters voters = CountVoters(view, connections);
  const std::size_t left = voters.all == 0 ? 0 : voters.all - 1;
  if (voters.connected < left / 2 + 2) return kErrUnhealthy.Fail();
  return {};
}

Result<void> CheckStrictPromote(const MembershipView& view) {
  Voters voters = CountVoters(view, {});
  ++voters.all;  // the learner counts, as a started member
  ++voters.started;
  if (!voters.has_started_quorum()) return kErrNotEnoughStarted.Fail();
  return {};
}

}  // namespace kvorum::server
