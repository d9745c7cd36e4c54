// Linearizable reads in progress at the leader (thesis, section 6.4), in rounds: a round confirms
// every read that came before it started.
//
// Threading: used by the raft executor only. Each round has a unique number within a leader's term,
// carried by its heartbeats, so that a late answer to an old round confirms nothing newer. Bounded
// by its owner (Config::max_pending_reads).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/shared_bytes.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

struct PendingRead {
  MemberId requester = kNone;
  SharedBytes context{};    // the requester's id for it
  Index index = 0;          // the commit index when it came
  std::uint64_t round = 0;  // the round that confirms it
};

class ReadQueue {
 public:
  std::size_t size() const { return postponed_.size() + waiting_.size(); }

  // For a leader that does not know yet what is committed: it has to commit in its own term first.
  void Postpone(MemberId requester, SharedBytes context);
  std::vector<PendingRead> TakePostponed();
  // Joins the round that starts next.
  void Add(MemberId requester, SharedBytes context, Index committed);

  // True if reads wait for a round that has not started.
  bool NeedsRound() const { return !waiting_.empty() && waiting_.back().round > last_round_; }
  std::uint64_t StartRound() { return ++last_round_; }
  // The round that the periodic heartbeats repeat, in case its own heartbeats were lost; 0 if no
  // read waits.
  std::uint64_t RoundToRepeat() const { return waiting_.empty() ? 0 : last_round_; }

  void Acknowledge(MemberId member, std::uint64_t round);
  // The last round that this member has acknowledged.
  std::uint64_t AcknowledgedBy(MemberId member) const;
  // Removes and returns the reads of rounds up to this one.
  std::vector<PendingRead> TakeConfirmed(std::uint64_t round);

  void Clear();

 private:
  std::vector<PendingRead> postponed_;
  std::deque<PendingRead> waiting_;  // in ascending order of rounds
  std::uint64_t last_round_ = 0;     // never decreases, not even by Clear
  std::map<MemberId, std::uint64_t> acknowledged_;
};

// A number as the 8 bytes of a context on the wire; 0 for bytes of another length.
SharedBytes EncodeContext(std::uint64_t number);
std::uint64_t DecodeContext(const SharedBytes& context);

}  // namespace kvorum::raft
