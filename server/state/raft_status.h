// A member's knowledge of its cluster's Raft, for all code that answers clients: published by the
// replica, read anywhere.
//
// Threading: thread-safe. The applied index is written by the apply executor, the rest by the raft
// executor. Each value is the last one published; two of them need not be from one moment.
// Invariant: applied_index() never decreases.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/metric.h"
#include "proto/raft_types.h"
#include "server/state/write_stages.h"

namespace kvorum::server {

// For the metrics.
struct RaftCounters {
  Counter leader_changes;
  Counter late_ticks;     // of a leader, whose heartbeats were due long before
  Counter slow_applies;   // batches
  Counter installations;  // snapshots that began to be installed
  Counter installed;
  Counter promotions;  // of learners, by this member as the leader
  Counter refused_promotions;
  Counter losses;        // times that this member found it lacks data that it had acknowledged
  Counter peers_losses;  // the same of a follower, found by this member as the leader
};

class RaftStatus {
 public:
  // The raft executor's values, published together.
  struct Values {
    raft::Index commit_index = 0;
    raft::Term term = 0;
    raft::MemberId leader = raft::kNone;
    bool is_leading = false;
  };

  // `log_end`: the last index of the log that the member started with.
  explicit RaftStatus(raft::Index applied = 0, raft::Index lost_data = 0, raft::Index log_end = 0)
      : log_end_at_start_(log_end), applied_index_(applied), lost_data_(lost_data) {}
  RaftStatus(const RaftStatus&) = delete;
  RaftStatus& operator=(const RaftStatus&) = delete;

  raft::Index commit_index() const { return commit_index_.load(std::memory_order_acquire); }
  raft::Index applied_index() const { return applied_index_.load(std::memory_order_acquire); }
  // A state behind it has entries that this process did not start with.
  bool is_past_start() const { return applied_index() > log_end_at_start_; }
  raft::Term term() const { return term_.load(std::memory_order_acquire); }
  // kNone during each election.
  raft::MemberId leader() const { return leader_.load(std::memory_order_acquire); }
  // True if there has been no leader for two election time-outs: none was heard from, and no
  // election meanwhile had a winner.
  bool is_leaderless() const {
    return leader() == raft::kNone && is_leader_overdue_.load(std::memory_order_acquire);
  }
  // The term in which this member leads, as far as it knows; 0 if it does not.
  raft::Term leading_term() const { return leading_term_.load(std::memory_order_acquire); }
  // Nonzero while this member lacks data that it had acknowledged, and has no vote: up to which
  // index, as far as it knows.
  raft::Index lost_data() const { return lost_data_.load(std::memory_order_acquire); }
  // Messages of peers that no correct one sends, or for which there was no room.
  std::uint64_t refused_messages() const {
    return refused_messages_.load(std::memory_order_relaxed);
  }
  // Proposals of other members' clients that arrived again and were dropped.
  std::uint64_t repeated_proposals() const {
    return repeated_proposals_.load(std::memory_order_relaxed);
  }

  const RaftCounters& counters() const { return counters_; }
  // The stages that the writes have reached.
  const WriteStages& stages() const { return stages_; }

  // ---- for the publishers ----
  // Returns true if leading_term() has changed.
  bool Publish(const Values& values) {
    commit_index_.store(values.commit_index, std::memory_order_release);
    term_.store(values.term, std::memory_order_release);
    const raft::MemberId before = leader_.exchange(values.leader, std::memory_order_acq_rel);
    if (values.leader != raft::kNone && values.leader != before) counters_.leader_changes.Add();
    const raft::Term leading = values.is_leading ? values.term : 0;
    return leading_term_.exchange(leading, std::memory_order_acq_rel) != leading;
  }
  void SetLeaderOverdue(bool is_overdue) {
    is_leader_overdue_.store(is_overdue, std::memory_order_release);
  }
  void SetLostData(raft::Index index) { lost_data_.store(index, std::memory_order_release); }
  void SetApplied(raft::Index index) { applied_index_.store(index, std::memory_order_release); }
  RaftCounters& counters() { return counters_; }
  WriteStages& stages() { return stages_; }
  void CountRefusedMessage() { refused_messages_.fetch_add(1, std::memory_order_relaxed); }
  void CountRepeatedProposals(std::uint64_t count) {
    repeated_proposals_.fetch_add(count, std::memory_order_relaxed);
  }

 private:
  const raft::Index log_end_at_start_;
  RaftCounters counters_;
  std::atomic<raft::Index> applied_index_;
  std::atomic<raft::Index> lost_data_;
  std::atomic<raft::Index> commit_index_{0};
  std::atomic<raft::Term> term_{0};
  std::atomic<raft::MemberId> leader_{raft::kNone};
  std::atomic<bool> is_leader_overdue_{false};
  std::atomic<raft::Term> leading_term_{0};
  std::atomic<std::uint64_t> refused_messages_{0};
  std::atomic<std::uint64_t> repeated_proposals_{0};
  WriteStages stages_;
};

}  // namespace kvorum::server
