#include "raft/pending_conf_change.h"

#include "raft/conf_change.h"

namespace kvorum::raft {

void PendingConfChange::NoteIfLeaving(const Entry& entry, const ConfState& conf, MemberId self) {
  const Result<ConfChangeV2> change = DecodeConfChangeEntry(entry.type, entry.data);
  if (!change.has_value()) return;
  const Result<ConfState> changed = ApplyChange(conf, *change);
  if (changed.has_value() && !IsVoterOf(*changed, self)) is_leaving_ = true;
}

void PendingConfChange::Applied(Index applied) {
  if (index_ <= applied) is_leaving_ = false;
}

}  // namespace kvorum::raft
