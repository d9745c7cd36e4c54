// A member that starts, and finds a majority there and no leader, stands for election sooner: an
// election time-out has to pass before a follower stands, so that a leader can make itself known,
// and where a majority is connected and none has, all but the last ticks of it are left out, once.
// A leader that is there nevertheless is not disturbed: that is what the pre-vote is for.
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
  // How long a member that starts waits for the others to be there.
  static constexpr Duration kLimit = std::chrono::seconds(5);
  static constexpr std::int64_t kLastTicks = 2;

  // The first election time-out begins.
  void Begin(TimePoint now) { hurry_until_ = now + kLimit; }
  // To be asked once a tick. How many of the ticks of an election time-out to leave out now: 0 but
  // for once.
  std::int64_t TicksToLeaveOut(const raft::Node& node, const Transport& transport, TimePoint now,
                               std::int64_t election_ticks);

 private:
  TimePoint hurry_until_{};  // after which the first election takes its time
};

}  // namespace kvorum::server
