// The members of the current configuration with their progress and votes, and the quorum values
// over them.
//
// Threading: used by the raft executor only. Invariant: there is a Progress for exactly the members
// of the configuration.
#pragma once

#include <cstdint>
#include <map>

#include "proto/raft_types.h"
#include "raft/conf_change.h"
#include "raft/progress.h"

namespace kvorum::raft {

enum class VoteResult : std::uint8_t { kPending, kWon, kLost };

class Tracker {
 public:
  const ConfState& conf_state() const { return conf_state_; }
  // New members are probed from next_index on; they count as heard from now (in ticks), so that the
  // leader has the time to hear from them.
  void SetConfState(ConfState conf_state, Index next_index, std::uint64_t now);
  bool IsVoter(MemberId id) const;
  bool IsMember(MemberId id) const { return progress_.contains(id); }
  bool IsJoint() const { return raft::IsJoint(conf_state_); }
  bool IsOnlyVoter(MemberId id) const;

  // Null if it is not a member.
  Progress* Find(MemberId id);
  std::map<MemberId, Progress>& progress() { return progress_; }
  const std::map<MemberId, Progress>& progress() const { return progress_; }

  // The last index that a quorum has on disk.
  Index QuorumMatch() const;
  // The last tick since which a quorum was heard from, including this member, which hears itself
  // now.
  std::uint64_t QuorumHeardAt(MemberId self, std::uint64_t now) const;

  void ClearVotes() { votes_.clear(); }
  // A member's first answer counts.
  void RecordVote(MemberId id, bool granted) { votes_.emplace(id, granted); }
  bool HasVoteOf(MemberId id) const { return votes_.contains(id); }
  VoteResult CountVotes() const;

  void CheckInvariants() const;

 private:
  ConfState conf_state_;
  std::map<MemberId, Progress> progress_;
  std::map<MemberId, bool> votes_;
};

}  // namespace kvorum::raft
