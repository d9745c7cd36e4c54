// The follower's side of replication: a leader's entries and snapshots enter the log (paper,
// sections 5.3 and 7).
#include <algorithm>
#include <utility>

#include "raft/conf_change.h"
#include "raft/node.h"

namespace kvorum::raft {

// Raft: paper 5.3
Result<void> Node::HandleAppend(const Message& message) {
  if (message.index < log_.committed()) {
    // An old message: what is committed is the same everywhere.
    Send({.type = MessageType::kAppResp, .to = message.from, .index = log_.committed()});
    return {};
  }
  if (!log_.Matches(message.index, message.log_term)) {
    if (!MayRefuse(message.index)) return {};
    // Tell the leader where the logs may agree at best.
    const Log::Position hint = log_.FindConflictByTerm(message.index, message.log_term);
    Send({.type = MessageType::kAppResp,
          .reject = true,
          .to = message.from,
          .log_term = hint.term,
          .index = message.index,
          .reject_hint = hint.index});
    RecordEvent(EventType::kAppendRefused, message.from, message.index);
    return {};
  }
  // The leader sends nothing below what it believes this member to have. So it no longer relies on
  // what was lost, but may have committed by it the index that it has sent here.
  lost_data_.HeardCommit(term_, message.commit);
  // Skip entries that we have; an entry of another term and all after it were never committed
  // (paper, 5.3).
  const auto first_new = std::ranges::find_if(
      message.entries, [&](const Entry& entry) { return !log_.Matches(entry.index, entry.term); });
  if (first_new != message.entries.end()) {
    if (IsFull()) {
      // Without an answer, which would only bring more of them: the leader asks again with every
      // heartbeat.
      log_.CommitTo(std::min(message.commit, first_new->index - 1));
      return {};
    }
    if (first_new->index <= log_.last_index()) {
      if (first_new->index <= log_.committed())
        return Fail(Code::kInvalidArgument, "raft: refused App: it contradicts what is committed");
      log_.TruncateFrom(first_new->index);
      writes_.TruncateFrom(first_new->index);
      RecordEvent(EventType::kLogTruncated, message.from, first_new->index);
    }
    for (auto entry = first_new; entry != message.entries.end(); ++entry) log_.Append(*entry);
    // The order came when we had all of the leader's log, and a leader takes no proposals during a
    // transfer. It takes them again, so the transfer is over.
    transfer_.ForgetOrder();
  }
  const Index last_new = message.index + message.entries.size();
  const Index committed = log_.committed();
  log_.CommitTo(std::min(message.commit, last_new));
  MaybeMakeGood();
  // A message that only brings a commit index needs no answer if the leader already knows that we
  // have all entries up to there. If that answer was lost, the leader's next probe brings no news,
  // and is answered.
  if (message.entries.empty() && log_.committed() > committed && last_new <= acknowledged_)
    return {};
  acknowledged_ = std::max(acknowledged_, last_new);
  Send({.type = MessageType::kAppResp, .to = message.from, .index = last_new});
  return {};
}

// One refusal of an index is enough for a heartbeat interval: a leader that does not know what to
// make of it asks again at once, and would do so for ever.
bool Node::MayRefuse(Index index) {
  const Refusal now{.index = index, .at = timers_.now()};
  if (now == refused_) return false;
  refused_ = now;
  return true;
}

// Only committed entries count: they get applied in any case. Uncommitted ones may need the very
// entries that would be dropped, such as the first of a leader's term, to be committed.
bool Node::IsFull() const {
  return log_.unapplied_size_bytes() >= config_.max_unapplied_size_bytes;
}

void Node::HandleHeartbeat(const Message& message) {
  if (message.commit > log_.last_index()) {
    // A leader tells no more than what this member has acknowledged to it: that is lost.
    RecordEvent(EventType::kCommitBeyondLog, message.from, message.commit);
    FindLostData(message.from, message.commit);
    // The leader may have nothing to send, and would not find out.
    RefuseHeartbeat(message.from, message.commit);
  } else if (message.commit > std::max(log_.committed(), KnownToMatch())) {
    // Acknowledged before a restart, or what this member has there now is not what it acknowledged:
    // a refusal brings an append, which tells.
    RefuseHeartbeat(message.from, message.commit);
  } else if (lost_data_.WaitsForAppend(term_)) {
    // The loss was found after the leader had already filled this member, and there are no writes.
    RefuseHeartbeat(message.from, log_.last_index());
  }
  log_.CommitTo(std::min(message.commit, KnownToMatch()));
  MaybeMakeGood();
  // A read may not rely on a member that can have lost its vote for another leader.
  Send({.type = MessageType::kHeartbeatResp,
        .to = message.from,
        .context = lost_data_.stands() ? SharedBytes() : message.context});
}

// The answer is that to an append behind `index` that does not fit.
void Node::RefuseHeartbeat(MemberId leader, Index index) {
  if (!MayRefuse(index)) return;
  Send({.type = MessageType::kAppResp,
        .reject = true,
        .to = leader,
        .log_term = log_.last_term(),
        .index = index,
        .reject_hint = log_.last_index()});
}

// The last entry that is certainly as in the log of this term's leader. A heartbeat tells what this
// member has acknowledged, but an older copy of its disk may hold other entries there, which were
// never committed.
Index Node::KnownToMatch() const {
  return log_.last_term() == term_ ? log_.last_index() : acknowledged_;
}

void Node::HandleSnapshot(const Message& message) {
  const Index index = message.snapshot->metadata.index;
  const bool is_restored = RestoreSnapshot(message.snapshot);
  RecordEvent(is_restored ? EventType::kSnapshotRestored : EventType::kSnapshotIgnored,
              message.from, index);
  Send({.type = MessageType::kAppResp,
        .to = message.from,
        .index = is_restored ? log_.last_index() : log_.committed()});
}

// Raft: paper 7
bool Node::RestoreSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
  const SnapshotMetadata& metadata = snapshot->metadata;
  if (metadata.index <= log_.committed()) return false;
  if (log_.Matches(metadata.index, metadata.term)) {
    // We have the snapshot's entries already; only the commit index is news.
    log_.CommitTo(metadata.index);
    return false;
  }
  Result<ConfState> conf = CheckConfState(metadata.conf_state);
  if (!conf.has_value()) return false;
  log_.Restore(metadata.index, metadata.term);
  writes_.TruncateFrom(1);
  transfer_.ForgetOrder();  // the leader has gone on without us
  restored_.Begin(snapshot, *std::move(conf));
  return true;
}

void Node::FindLostData(MemberId leader, Index index) {
  if (lost_data_.Found(index)) RecordEvent(EventType::kDataLost, leader, index);
}

void Node::LoseData() {
  if (lost_data_.stands() || IsAlone()) return;
  if (role_ != Role::kFollower) BecomeFollower(term_, kNone);
  FindLostData(kNone, 1);
}

// A single voter has no other member to catch up with. A member that begins again is for a moment
// the only one that it knows of: while entries are left to apply, and until its leader has sent
// those that add the others.
bool Node::IsAlone() const {
  return tracker_.IsOnlyVoter(config_.id) && log_.applied() == log_.last_index() &&
         (leader_ == kNone || leader_ == config_.id);
}

void Node::MaybeMakeGood() {
  if (!lost_data_.stands() || !IsVoteOnDisk()) return;
  // A member that knows of entries that it lacks is not alone: it heard of them from another one.
  const bool is_good =
      lost_data_.IsMadeGood(log_, term_) || (IsAlone() && lost_data_.IsReachedBy(log_));
  if (!is_good) return;
  RecordEvent(EventType::kDataMadeGood, kNone, lost_data_.index());
  lost_data_.Forget();
}

bool Node::IsVoteOnDisk() const {
  return last_ready_.hard_state.term == term_ && last_ready_.hard_state.vote == vote_ &&
         !writes_.HasVote();
}

// Until the snapshot is on disk and installed, this member cannot lead.
bool Node::IsSnapshotPending() const {
  return !restored_.IsDurable() || log_.applied() < log_.snapshot_index();
}

}  // namespace kvorum::raft
