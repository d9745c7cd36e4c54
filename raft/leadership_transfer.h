// A leadership transfer (thesis, section 3.10): the target of a leader's transfer, and the order to
// campaign that reached a follower too early to be obeyed.
//
// Threading: used by the raft executor only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "proto/raft_types.h"
#include "raft/timers.h"
#include "raft/tracker.h"

namespace kvorum::raft {

class LeadershipTransfer {
 public:
  // --- for the leader ---
  MemberId to() const { return to_; }
  bool is_under_way() const { return to_ != kNone; }
  void Start(MemberId to) { to_ = to; }
  // Ends the transfer and returns its target; kNone if none was under way.
  MemberId End();
  // True if a leader whose disk stalled may start a transfer: once per stall.
  bool MayTryWithoutDisk();
  void DiskChanged() { has_tried_without_disk_ = false; }

  // --- for a follower ---
  // The order met a configuration change that is not applied; the leader waits until `ends_at`.
  void PostponeOrder(std::uint64_t ends_at) { order_ends_at_ = ends_at; }
  bool HasOrder() const { return order_ends_at_ != 0; }
  // Forgets the order. Returns true if the leader still waits.
  bool TakeOrder(std::uint64_t now);
  void ForgetOrder() { order_ends_at_ = 0; }

 private:
  MemberId to_ = kNone;
  bool has_tried_without_disk_ = false;
  std::uint64_t order_ends_at_ = 0;  // in ticks; 0: there is no order
};

// The voter other than `self` that needs least to lead: heard from within an election time-out,
// then with most of the log. kNone if there is no other voter.
//
// A transfer to a member that does not answer costs an election time-out without a leader, one to a
// lagging member the time to send the rest of the log; so both criteria count, in this order. The
// time that a member has been connected, which etcd's server uses, says neither.
// `among`: only one of these.
MemberId BestSuccessor(const Tracker& tracker, MemberId self, const Timers& timers,
                       std::optional<std::span<const MemberId>> among = std::nullopt);

}  // namespace kvorum::raft
