// A member that starts, and finds a majority connected but no leader, campaigns sooner. A follower
// must let an election time-out pass before it campaigns, so that a leader can make itself known;
// if a majority is connected and none has done so, all but the last ticks of it are skipped, once.
// A leader that exists nevertheless is not disturbed: the pre-vote sees to that.
//
// Threading: used by the raft executor only.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace kvorum::raft {
class Node;
}  // namespace kvorum::raft

namespace kvorum::server {

class Transport;

class FirstElection {
 public:
  // The time that a starting member waits for the others to be connected.
  static constexpr Duration kLimit = std::chrono::seconds(5);
  static constexpr std::int64_t kLastTicks = 2;

  // The first election time-out begins.
  void Begin(TimePoint now) { hurry_until_ = now + kLimit; }
  // Called once a tick. Returns the number of ticks of an election time-out to skip now: 0 except
  // once.
  std::int64_t TicksToLeaveOut(const raft::Node& node, const Transport& transport, TimePoint now,
                               std::int64_t election_ticks);

 private:
  TimePoint hurry_until_{};  // after this the first election takes its normal time
};

}  // namespace kvorum::server
