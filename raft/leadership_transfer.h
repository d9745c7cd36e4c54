// Leadership on its way to another member (thesis, section 3.10): whom a leader hands over to, and
// the order to stand for election that reached a follower too early to be obeyed.
//
// Threading: used by the raft executor only.
#pragma once

#include <cstdint>

#include "proto/raft_types.h"
#include "raft/timers.h"
#include "raft/tracker.h"

namespace kvorum::raft {

class LeadershipTransfer {
 public:
  // --- of the leader ---
  MemberId to() const { return to_; }
  bool is_under_way() const { return to_ != kNone; }
  void Start(MemberId to) { to_ = to; }
  // To whom it was under way; kNone if it was not.
  MemberId End();
  // Whether a leader whose disk stalled may hand over: once since then.
  bool MayTryWithoutDisk();
  void DiskChanged() { has_tried_without_disk_ = false; }

  // --- of a follower ---
  // The order met a configuration change that is not applied; the leader waits until `ends_at`.
  void PostponeOrder(std::uint64_t ends_at) { order_ends_at_ = ends_at; }
  bool HasOrder() const { return order_ends_at_ != 0; }
  // Forgets the order. True if the leader still waits.
  bool TakeOrder(std::uint64_t now);
  void ForgetOrder() { order_ends_at_ = 0; }

 private:
  MemberId to_ = kNone;
  bool has_tried_without_disk_ = false;
  std::uint64_t order_ends_at_ = 0;  // in ticks; 0: there is no order
};

// The voter other than `self` that needs least to lead: heard of within an election time-out, then
// with most of the log. kNone if there is no other voter.
//
// A transfer to one that does not answer costs an election time-out without a leader, one to a log
// that lags behind costs the time to send the rest; so both count, in this order. How long a member
// has been connected, which etcd's server goes by, says neither.
MemberId BestSuccessor(const Tracker& tracker, MemberId self, const Timers& timers);

}  // namespace kvorum::raft
