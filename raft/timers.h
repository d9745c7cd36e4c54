// A member's time, which passes in ticks: the time without a leader, the time to campaign, the
// leader's heartbeats.
//
// Threading: used by the raft executor only. Deterministic: the randomness comes from the seed.
#pragma once

#include <cstdint>

#include "base/rng.h"

namespace kvorum::raft {

class Timers {
 public:
  Timers(std::uint64_t seed, int election_ticks, int heartbeat_ticks)
      : rng_(seed), election_ticks_(election_ticks), heartbeat_ticks_(heartbeat_ticks) {}

  std::uint64_t now() const { return now_; }
  void Advance() { ++now_; }
  // One election time-out from now.
  std::uint64_t ElectionTimeoutFromNow() const { return now_ + Ticks(election_ticks_); }
  bool IsElectionTimeoutSince(std::uint64_t then) const {
    return now_ - then >= Ticks(election_ticks_);
  }

  // Restarts all timers for a new role or term, with another random election time-out.
  void Restart();
  void RestartElection() { election_elapsed_ = 0; }
  // For a follower: true once the election time-out is over.
  bool TickFollower();
  // For a follower whose leader departs: it campaigns within half an election time-out.
  void HurryElection();
  // For a leader: true once per election time-out.
  bool TickLeader();
  // For a leader: true when heartbeats are due.
  bool TickHeartbeat();
  // True while less than the shortest election time-out has passed: a known leader has been heard
  // from.
  bool IsLeaderFresh() const { return election_elapsed_ < election_ticks_; }

  // This member heard from its leader or, as the leader, from a quorum.
  void HeardOfLeader() { leader_heard_at_ = now_; }
  void HeardOfQuorum(std::uint64_t at);
  std::uint64_t ticks_without_leader() const { return now_ - leader_heard_at_; }
  // A leader tolerates one and a half election time-outs of silence. With a check once per election
  // time-out, as in etcd, it would be between one and two, depending on when the silence starts.
  bool IsQuorumLost(std::uint64_t heard_at) const;

 private:
  static std::uint64_t Ticks(int ticks) { return static_cast<std::uint64_t>(ticks); }

  Rng rng_;
  const int election_ticks_;
  const int heartbeat_ticks_;
  std::uint64_t now_ = 0;
  std::uint64_t leader_heard_at_ = 0;
  int election_elapsed_ = 0;  // as leader: since the start of its present election time-out
  int heartbeat_elapsed_ = 0;
  int election_timeout_ = 0;
};

}  // namespace kvorum::raft
