#include "server/replica/drive/first_election.h"

#include <algorithm>
#include <vector>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "base/majority.h"
#include "raft/node.h"
#include "server/peer/codec/transport.h"

namespace kvorum::server {

std::int64_t FirstElection::TicksToLeaveOut(const raft::Node& node, const Transport& transport,
                                            TimePoint now, std::int64_t election_ticks) {
  if (hurry_until_ == TimePoint{}) return 0;
  const std::vector<raft::MemberId>& voters = node.conf_state().voters;
  const auto connected = std::ranges::count_if(voters, [&](raft::MemberId id) {
    return id == node.id() || transport.ActiveSince(id).has_value();
  });
  const bool is_over =
      node.leader() != raft::kNone || node.role() != raft::Role::kFollower || now > hurry_until_;
  const bool has_majority = static_cast<std::size_t>(connected) >= Majority(voters.size());
  if (!is_over && !has_majority) return 0;
  hurry_until_ = {};
  if (is_over) return 0;
  const std::int64_t left_out = std::max<std::int64_t>(election_ticks - kLastTicks, 0);
  KV_INFO("initialized peer connections; fast-forwarding election ticks",
          {"local-member-id", IdText(node.id())}, {"forward-ticks", left_out});
  return left_out;
}

}  // namespace kvorum::server
