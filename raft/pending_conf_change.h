// The configuration changes in a leader's log that are not applied yet: no other one is proposed
// before that (thesis, section 4.1), and one of them may end the leader's own vote.
//
// Threading: used by the raft executor only.
#pragma once

#include "proto/raft_types.h"

namespace kvorum::raft {

class PendingConfChange {
 public:
  // There is, or may be, a change at `index`: the next one waits until that is applied.
  void WaitFor(Index index) { index_ = index; }
  bool IsPending(Index applied) const { return index_ > applied; }

  // An entry of a change is in the log behind `conf`.
  void NoteIfLeaving(const Entry& entry, const ConfState& conf, MemberId self);
  // The change ends this member's vote.
  bool is_leaving() const { return is_leaving_; }
  bool IsLeavingCertain(Index committed) const { return is_leaving_ && index_ <= committed; }
  // From then on the configuration says so, if it is.
  void Applied(Index applied);

 private:
  Index index_ = 0;
  bool is_leaving_ = false;
};

}  // namespace kvorum::raft
