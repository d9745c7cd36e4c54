// How entries get from the leader's log into the others', and become committed (paper, section 5.3;
// thesis, chapters 3 and 10.2).
#include <algorithm>
#include <utility>

#include "raft/conf_change.h"
#include "raft/node.h"

namespace kvorum::raft {

// --- leader: the own log -----------------------------------------------------------------------

Dropped Node::WhyNotPropose() const {
  // Nothing goes behind the entry that removes the leader. The others then need not have more than
  // that entry to get the vote of this member, which they may still ask for: they need not know yet
  // that its removal is committed.
  if (is_leaving_ || !tracker_.IsVoter(config_.id)) return Dropped::kNotMember;
  if (transferee_ != kNone) return Dropped::kTransferring;
  return Dropped::kNot;
}

bool Node::HasRoomFor(std::size_t size_bytes) const {
  // One may always go on its own, whatever its size; what is empty costs nothing.
  const auto fits = [&](std::size_t waiting_size_bytes, std::size_t max_size_bytes) {
    return waiting_size_bytes == 0 || waiting_size_bytes + size_bytes <= max_size_bytes;
  };
  return size_bytes == 0 || (fits(uncommitted_size_bytes_, config_.max_uncommitted_size_bytes) &&
                             fits(log_.unapplied_size_bytes(), config_.max_unapplied_size_bytes));
}

void Node::AppendAsLeader(EntryType type, SharedBytes data) {
  uncommitted_size_bytes_ += data.size();
  if (type != EntryType::kNormal) pending_conf_index_ = log_.last_index() + 1;
  log_.Append(
      {.term = term_, .index = log_.last_index() + 1, .type = type, .data = std::move(data)});
  if (type != EntryType::kNormal)
    NoteIfLeaving(log_.Range(log_.last_index(), log_.last_index()).front());
}

void Node::NoteIfLeaving(const Entry& entry) {
  const Result<ConfChangeV2> change = DecodeConfChangeEntry(entry.type, entry.data);
  if (!change.has_value()) return;
  const Result<ConfState> conf = ApplyChange(tracker_.conf_state(), *change);
  if (conf.has_value() && !IsVoterOf(*conf, config_.id)) is_leaving_ = true;
}

// A follower's proposals. What this leader may not do becomes an empty entry, so that the sender's
// indexes stand; it learns of it by a time-out, as of any proposal that is lost.
Result<void> Node::HandleProposals(Message& message) {
  for (Entry& entry : message.entries) {
    if (WhyNotPropose() != Dropped::kNot || !HasRoomFor(entry.data.size())) return {};
    if (entry.type != EntryType::kNormal) {
      const Result<ConfChangeV2> change = DecodeConfChangeEntry(entry.type, entry.data);
      if (!change.has_value() || !MayChangeConf(*change)) {
        entry = {};
        Happened(EventType::kConfChangeRefused, message.from, log_.last_index() + 1);
      }
    }
    AppendAsLeader(entry.type, std::move(entry.data));
  }
  return {};
}

// One change at a time: the next one may be proposed when the last one is applied (thesis, 4.1),
// and a joint configuration has to be left before anything else.
bool Node::MayChangeConf(const ConfChangeV2& change) const {
  return pending_conf_index_ <= log_.applied() && tracker_.IsJoint() == LeavesJoint(change);
}

void Node::MaybeLeaveJoint() {
  if (role_ != Role::kLeader || !tracker_.conf_state().auto_leave ||
      pending_conf_index_ > log_.applied())
    return;
  AppendAsLeader(EntryType::kConfChangeV2, SharedBytes::Own(Encode(ConfChangeV2{})));
}

void Node::MaybeCommit() {
  const Index index = tracker_.QuorumMatch();
  // Entries of earlier terms are committed by one of ours only (paper, section 5.4.2, figure 8).
  if (index <= log_.committed() || !log_.Matches(index, term_)) return;
  const bool is_first_of_term = !HasCommittedInTerm();
  CommitTo(index);
  if (is_first_of_term) ReleasePostponedReads();
  // As soon as its removal is certain, and while those who apply it still listen to this leader.
  if (is_leaving_ && pending_conf_index_ <= index && transferee_ == kNone) HandOver();
}

void Node::CommitTo(Index index) {
  if (role_ == Role::kLeader) {
    for (const Entry& entry : log_.Range(log_.committed() + 1, index))
      uncommitted_size_bytes_ -= entry.data.size();
  }
  log_.CommitTo(index);
}

// --- leader: the followers ---------------------------------------------------------------------

bool Node::IsWindowFull(const Progress& progress) const {
  return progress.state == ProgressState::kReplicate &&
         progress.inflights.IsFull(config_.max_inflight_messages, config_.max_inflight_size_bytes);
}

// Whether there is something to send to a follower, and it may be sent now.
bool Node::WantsAppend(const Progress& progress) const {
  switch (progress.state) {
    case ProgressState::kProbe:
      return !progress.is_probe_sent;
    case ProgressState::kReplicate: {
      // Past the window nothing but the question where it stands.
      if (IsWindowFull(progress)) return progress.wants_append;
      const bool has_entries = progress.next <= log_.last_index();
      const bool has_commit = std::min(log_.committed(), progress.next - 1) > progress.sent_commit;
      return has_entries || has_commit || progress.wants_append;
    }
    case ProgressState::kSnapshot:
      return false;
  }
  return false;
}

bool Node::HasFollowersToSendTo() const {
  return std::ranges::any_of(tracker_.progress(), [&](const auto& item) {
    return item.first != config_.id && WantsAppend(item.second);
  });
}

// Once per Ready, so that everything that was proposed or committed since the last one goes
// together.
void Node::SendWhatFollowersLack() {
  for (auto& [id, progress] : tracker_.progress()) {
    if (id == config_.id) continue;
    while (WantsAppend(progress)) SendAppend(id, progress);
  }
}

void Node::SendAppend(MemberId to, Progress& progress) {
  const Index previous = progress.next - 1;
  const std::optional<Term> previous_term = log_.TermAt(previous);
  if (!previous_term.has_value()) {
    SendSnapshot(to, progress);
    return;
  }
  std::span<const Entry> entries;
  if (!IsWindowFull(progress))
    entries = log_.Range(progress.next, log_.last_index(), config_.max_append_size_bytes);
  std::size_t size_bytes = 0;
  for (const Entry& entry : entries) size_bytes += SizeBytes(entry);
  Send({.type = MessageType::kApp,
        .to = to,
        .log_term = *previous_term,
        .index = previous,
        .commit = log_.committed(),
        .entries = {entries.begin(), entries.end()}});
  progress.wants_append = false;
  if (progress.state == ProgressState::kProbe) {
    progress.is_probe_sent = true;
    return;
  }
  if (!entries.empty()) {
    progress.next = entries.back().index + 1;
    progress.inflights.Add(entries.back().index, size_bytes);
  }
  progress.sent_commit = std::min(log_.committed(), progress.next - 1);
}

void Node::SendSnapshot(MemberId to, Progress& progress) {
  if (!progress.is_active) {
    // A snapshot is too much for one who may be down: its next answer to a heartbeat brings us
    // back.
    progress.BecomeProbe();
    progress.is_probe_sent = true;
    return;
  }
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->metadata = {.conf_state = tracker_.conf_state(),
                        .index = log_.applied(),
                        .term = log_.TermAt(log_.applied()).value()};
  progress.BecomeSnapshot(log_.applied());
  Happened(EventType::kSnapshotSent, to, log_.applied());
  Send({.type = MessageType::kSnap, .to = to, .snapshot = std::move(snapshot)});
}

void Node::SendHeartbeats(std::uint64_t read_round) {
  const SharedBytes context = read_round == 0 ? SharedBytes() : EncodeContext(read_round);
  for (const auto& [id, progress] : tracker_.progress()) {
    if (id == config_.id) continue;
    // Not more than it is known to have: its log may still differ behind that.
    Send({.type = MessageType::kHeartbeat,
          .to = id,
          .commit = std::min(progress.match, log_.committed()),
          .context = context});
  }
}

Result<void> Node::HandleAppendResponse(const Message& message) {
  Progress* progress = tracker_.Find(message.from);
  if (progress == nullptr) return {};  // removed meanwhile
  if (!message.reject && message.index > log_.last_index())
    return Fail(Code::kInvalidArgument, "raft: refused AppResp: it has more than we sent");
  progress->is_active = true;
  progress->heard_at = ticks_;
  const bool is_awaited = message.from == transferee_;
  if (message.reject) {
    if (progress->state == ProgressState::kSnapshot) return {};
    // Its entry at reject_hint is of log_term. Where ours are of later terms up to there, they
    // cannot agree: skip whole terms instead of single entries (paper, end of section 5.3).
    Index hint = std::min(message.reject_hint, log_.last_index());
    if (message.log_term > 0) hint = log_.FindConflictByTerm(hint, message.log_term).index;
    if (!progress->Retreat(message.index, hint)) return {};
    if (progress->state == ProgressState::kReplicate) progress->BecomeProbe();
    Happened(EventType::kAppendRejected, message.from, progress->next);
    return {};
  }
  const bool is_news = progress->Advance(message.index);
  if (!is_news && !(progress->state == ProgressState::kProbe && progress->match == message.index)) {
    return {};
  }
  switch (progress->state) {
    case ProgressState::kProbe:
      progress->BecomeReplicate();
      break;
    case ProgressState::kReplicate:
      progress->inflights.FreeUpTo(message.index);
      break;
    case ProgressState::kSnapshot:
      // Where it stands now we can go on from the log, be it by this snapshot or otherwise.
      if (progress->match >= log_.snapshot_index()) progress->BecomeReplicate();
      break;
  }
  if (is_news) MaybeCommit();
  if (is_awaited && progress->match == log_.last_index()) SendTimeoutNow(message.from);
  return {};
}

void Node::HandleHeartbeatResponse(const Message& message) {
  Progress* progress = tracker_.Find(message.from);
  if (progress == nullptr) return;
  progress->is_active = true;
  progress->heard_at = ticks_;
  // It is there, so what it did not answer may be lost: ask where it stands. Not by more entries
  // than the window holds: its disk may be stuck, and they would pile up in its memory.
  progress->is_probe_sent = false;
  if (progress->state == ProgressState::kReplicate && progress->match < log_.last_index())
    progress->wants_append = true;
  if (message.context.empty()) return;
  reads_.Acknowledge(message.from, DecodeContext(message.context));
  AnswerConfirmedReads();
}

// --- follower ----------------------------------------------------------------------------------

Result<void> Node::HandleAppend(const Message& message) {
  if (message.index < log_.committed()) {
    // An old message: what is committed is the same everywhere.
    Send({.type = MessageType::kAppResp, .to = message.from, .index = log_.committed()});
    return {};
  }
  if (!log_.Matches(message.index, message.log_term)) {
    // Tell the leader where the logs may agree at best.
    const Log::Position hint = log_.FindConflictByTerm(message.index, message.log_term);
    Send({.type = MessageType::kAppResp,
          .reject = true,
          .to = message.from,
          .log_term = hint.term,
          .index = message.index,
          .reject_hint = hint.index});
    Happened(EventType::kAppendRefused, message.from, message.index);
    return {};
  }
  // Skip what we have; an entry of another term and all behind it were never committed
  // (paper, 5.3).
  const auto first_new = std::ranges::find_if(
      message.entries, [&](const Entry& entry) { return !log_.Matches(entry.index, entry.term); });
  if (first_new != message.entries.end()) {
    if (IsFull()) {
      // Without an answer, which would only bring more of them: the leader asks again with every
      // heartbeat.
      CommitTo(std::min(message.commit, first_new->index - 1));
      return {};
    }
    if (first_new->index <= log_.last_index()) {
      if (first_new->index <= log_.committed())
        return Fail(Code::kInvalidArgument, "raft: refused App: it contradicts what is committed");
      log_.TruncateFrom(first_new->index);
      writes_.TruncateFrom(first_new->index);
      Happened(EventType::kLogTruncated, message.from, first_new->index);
    }
    for (auto entry = first_new; entry != message.entries.end(); ++entry) log_.Append(*entry);
    // The order came when we had all of the leader's log, which takes no proposals while it hands
    // over. Now it does.
    campaign_order_ends_ = 0;
  }
  const Index last_new = message.index + message.entries.size();
  const Index committed = log_.committed();
  CommitTo(std::min(message.commit, last_new));
  // What only brings a commit index needs no answer, when it was told before that we have all up to
  // there. If that answer was lost, the leader's next question brings no news, and is answered.
  if (message.entries.empty() && log_.committed() > committed && last_new <= acknowledged_)
    return {};
  acknowledged_ = std::max(acknowledged_, last_new);
  Send({.type = MessageType::kAppResp, .to = message.from, .index = last_new});
  return {};
}

// Only what is committed counts: it gets applied whatever comes. What is not may need the very
// entries that would be dropped, such as the first of a leader's term, to be committed.
bool Node::IsFull() const {
  return log_.unapplied_size_bytes() >= config_.max_unapplied_size_bytes;
}

void Node::HandleHeartbeat(const Message& message) {
  if (message.commit > log_.last_index()) {
    // It counts on entries that we acknowledged and lost: never by our own doing. Go on with what
    // we have; its next App finds out.
    Happened(EventType::kCommitBeyondLog, message.from, message.commit);
  }
  CommitTo(std::min(message.commit, log_.last_index()));
  Send({.type = MessageType::kHeartbeatResp, .to = message.from, .context = message.context});
}

void Node::HandleSnapshot(const Message& message) {
  const Index index = message.snapshot->metadata.index;
  const bool is_restored = RestoreSnapshot(message.snapshot);
  Happened(is_restored ? EventType::kSnapshotRestored : EventType::kSnapshotIgnored, message.from,
           index);
  Send({.type = MessageType::kAppResp,
        .to = message.from,
        .index = is_restored ? log_.last_index() : log_.committed()});
}

bool Node::RestoreSnapshot(const std::shared_ptr<const Snapshot>& snapshot) {
  const SnapshotMetadata& metadata = snapshot->metadata;
  if (metadata.index <= log_.committed()) return false;
  if (log_.Matches(metadata.index, metadata.term)) {
    // We have its entries already, only the commit index is news.
    CommitTo(metadata.index);
    return false;
  }
  Result<ConfState> conf = CheckConfState(metadata.conf_state);
  if (!conf.has_value()) return false;
  log_.Restore(metadata.index, metadata.term);
  writes_.TruncateFrom(1);
  applying_size_bytes_ = 0;
  campaign_order_ends_ = 0;  // the leader has gone on without us
  restored_conf_ = std::move(*conf);
  snapshot_ = snapshot;
  return true;
}

// Until it is on disk and installed, this member is in no state to lead.
bool Node::IsSnapshotPending() const {
  return snapshot_ != nullptr || snapshot_ready_number_ != 0 ||
         log_.applied() < log_.snapshot_index();
}

}  // namespace kvorum::raft
