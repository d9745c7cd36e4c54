// A member's time, which passes in ticks: how long nothing was heard of a leader, when to stand for
// election, when a leader's heartbeats are due.
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

  // For a new role or term: everything begins anew, with another random election time-out.
  void Restart();
  void RestartElection() { election_elapsed_ = 0; }
  // For one who follows: true from when the election time-out is over.
  bool TickFollower();
  // For one whose leader departs: it stands within half an election time-out.
  void HurryElection();
  // For a leader: true once in an election time-out.
  bool TickLeader();
  // For a leader: true when heartbeats are due.
  bool TickHeartbeat();
  // Whether less than the shortest election time-out has passed: a leader that is known is heard.
  bool IsLeaderFresh() const { return election_elapsed_ < election_ticks_; }

  // Of its leader, or, as the leader, of a quorum.
  void HeardOfLeader() { leader_heard_at_ = now_; }
  void HeardOfQuorum(std::uint64_t at);
  std::uint64_t ticks_without_leader() const { return now_ - leader_heard_at_; }
  // A leader bears one and a half election time-outs of silence: where the quorum is looked at once
  // in an election time-out, as in etcd, it is between one and two, as the silence falls.
  bool IsQuorumLost(std::uint64_t heard_at) const;

 private:
  static std::uint64_t Ticks(int ticks) { return static_cast<std::uint64_t>(ticks); }

  Rng rng_;
  const int election_ticks_;
  const int heartbeat_ticks_;
  std::uint64_t now_ = 0;
  std::uint64_t leader_heard_at_ = 0;
  int election_elapsed_ = 0;  // as leader: since an election time-out of its began
  int heartbeat_elapsed_ = 0;
  int election_timeout_ = 0;
};

}  // namespace kvorum::raft
