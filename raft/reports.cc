// The driver's reports: data that is durable, applied, or lost on the way.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "raft/conf_change.h"
#include "raft/node.h"

namespace kvorum::raft {

// Raft: thesis 10.2.1; thesis 3.8
void Node::Persisted(std::uint64_t ready_number) {
  KV_CHECK(ready_number <= last_ready_.number, "persisted a Ready that was not given out");
  bool has_own_vote = false;
  for (Write& write : writes_.TakeUpTo(ready_number)) {
    log_.SetPersisted(write.last_index);
    std::ranges::move(write.messages, std::back_inserter(messages_));
    has_own_vote |= write.term == term_ && write.vote == config_.id;
  }
  restored_.Persisted(ready_number);
  MaybeMakeGood();
  WatchDisk();
  if (role_ == Role::kLeader) {
    Progress* self = tracker_.Find(config_.id);
    if (self != nullptr && self->Advance(log_.persisted())) MaybeCommit();
  } else if (role_ == Role::kCandidate && has_own_vote) {
    // Counted only now that it is on disk: after a crash this member must not lead the same term
    // twice, with another log.
    CountVote(config_.id, true);
  }
}

void Node::Applied(Index index) {
  // Entries given out before a snapshot was restored are applied and reported after the restore:
  // none of them is in the log any more.
  log_.SetApplied(index);
  if (restored_.HasConfState() && index >= log_.snapshot_index()) {
    tracker_.SetConfState(restored_.TakeConfState(), log_.last_index() + 1, timers_.now());
    ForgetDeparture();
    RecordEvent(EventType::kConfChanged, kNone, index);
  }
  pending_change_.Applied(index);
  MaybeLeaveJoint();
  if (transfer_.HasOrder() && UnappliedConfChange() == 0) FollowCampaignOrder();
}

Result<ConfState> Node::ApplyConfChange(const ConfChangeV2& change) {
  KV_TRY(ConfState conf, ApplyChange(tracker_.conf_state(), change));
  // A lagging member may not know yet that its leader is a voter.
  const bool had_vote = tracker_.IsVoter(leader_);
  tracker_.SetConfState(std::move(conf), std::max<Index>(log_.last_index(), 1), timers_.now());
  RecordEvent(EventType::kConfChanged);
  if (role_ == Role::kLeader) {
    MaybeCommit();  // the new quorum may be smaller
    AnswerConfirmedReads();
    if (!tracker_.IsVoter(transfer_.to())) AbortTransfer();
    if (!tracker_.IsVoter(config_.id) && !transfer_.is_under_way()) TransferToSuccessor();
  } else if (had_vote && !tracker_.IsVoter(leader_)) {
    LeaderDeparts();
  } else {
    ForgetDeparture();
  }
  return tracker_.conf_state();
}

void Node::ReportUnreachable(MemberId peer) {
  if (role_ != Role::kLeader) return;
  Progress* progress = tracker_.Find(peer);
  // Entries that were sent optimistically are probably lost.
  if (progress == nullptr || progress->state != ProgressState::kReplicate) return;
  progress->BecomeProbe();
  RecordEvent(EventType::kPeerUnreachable, peer, progress->next);
}

void Node::ReportSnapshot(MemberId peer, bool succeeded) {
  if (role_ != Role::kLeader) return;
  Progress* progress = tracker_.Find(peer);
  if (progress == nullptr || progress->state != ProgressState::kSnapshot) return;
  if (!succeeded) {
    progress->pending_snapshot = 0;
    RecordEvent(EventType::kSnapshotFailed, peer);
  }
  progress->BecomeProbe();
  // Its answer, or the one to the next heartbeat, continues from here: a retry at once would only
  // find it still busy, or fail again.
  progress->is_probe_sent = true;
}

void Node::Compact(Index index) {
  log_.Compact(index, config_.catch_up_entries, config_.catch_up_size_bytes);
}

}  // namespace kvorum::raft
