// The configuration change in a leader's log that is not applied yet: until it is, no other one is
// proposed (thesis, section 4.1), and it may end the leader's own vote.
//
// Threading: used by the raft executor only.
#pragma once

#include "proto/raft_types.h"

namespace kvorum::raft {

class PendingConfChange {
 public:
  // There is, or may be, a change at `index`: the next change waits until it is applied.
  void WaitFor(Index index) { index_ = index; }
  bool IsPending(Index applied) const { return index_ > applied; }

  // A change's entry was appended to the log, on top of `conf`.
  void NoteIfLeaving(const Entry& entry, const ConfState& conf, MemberId self);
  // The change ends this member's vote.
  bool is_leaving() const { return is_leaving_; }
  bool IsLeavingCertain(Index committed) const { return is_leaving_ && index_ <= committed; }
  // The change, if there is one at or below this index, is part of the configuration now.
  void Applied(Index applied);

 private:
  Index index_ = 0;
  bool is_leaving_ = false;
};

}  // namespace kvorum::raft
