#include "raft/timers.h"

#include <algorithm>

namespace kvorum::raft {

// Raft: paper 5.2
void Timers::Restart() {
  election_elapsed_ = 0;
  heartbeat_elapsed_ = 0;
  // Between one and two time-outs, so that members rarely campaign against each other.
  election_timeout_ = election_ticks_ + static_cast<int>(rng_.Below(Ticks(election_ticks_)));
}

bool Timers::TickFollower() {
  if (election_elapsed_ < election_timeout_) ++election_elapsed_;
  return election_elapsed_ >= election_timeout_;
}

void Timers::HurryElection() {
  const int wait = 1 + static_cast<int>(rng_.Below(Ticks(std::max(election_ticks_ / 2, 1))));
  election_elapsed_ = std::max(election_elapsed_, election_timeout_ - wait);
}

bool Timers::TickLeader() {
  if (++election_elapsed_ < election_ticks_) return false;
  election_elapsed_ = 0;
  return true;
}

bool Timers::TickHeartbeat() {
  if (++heartbeat_elapsed_ < heartbeat_ticks_) return false;
  heartbeat_elapsed_ = 0;
  return true;
}

void Timers::HeardOfQuorum(std::uint64_t at) { leader_heard_at_ = std::max(leader_heard_at_, at); }

bool Timers::IsQuorumLost(std::uint64_t heard_at) const {
  return now_ - heard_at >= Ticks(election_ticks_) + Ticks(election_ticks_ / 2);
}

}  // namespace kvorum::raft
