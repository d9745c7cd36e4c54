// The leader's side of replication: entries are sent to the followers and become committed (paper,
// section 5.3; thesis, chapters 3 and 10.2).
#include <algorithm>
#include <utility>

#include "raft/node.h"

namespace kvorum::raft {

// Raft: paper 5.4.2
void Node::MaybeCommit() {
  const Index index = tracker_.QuorumMatch();
  // A quorum has it on disk. Entries of earlier terms are committed by one of ours only (figure 8).
  if (index <= log_.committed() || !log_.Matches(index, term_)) return;
  const bool is_first_of_term = !HasCommittedInTerm();
  log_.CommitTo(index);
  if (is_first_of_term) ReleasePostponedReads();
  // The successor gets its order as soon as the removal is certain, while the members that apply it
  // still listen to this leader.
  if (pending_change_.IsLeavingCertain(index) && !transfer_.is_under_way()) TransferToSuccessor();
}

bool Node::IsWindowFull(const Progress& progress) const {
  return progress.state == ProgressState::kReplicate &&
         progress.inflights.IsFull(config_.max_inflight_messages, config_.max_inflight_size_bytes);
}

// True if there is something to send to a follower, and it may be sent now.
bool Node::WantsAppend(const Progress& progress) const {
  if (progress.is_fetching) return false;
  switch (progress.state) {
    case ProgressState::kProbe:
      return !progress.is_probe_sent;
    case ProgressState::kReplicate: {
      // When the window is full, only a probe of the follower's last entry is sent.
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

// Once per Ready, so that everything proposed or committed since the last one goes together.
// Raft: thesis 10.2.2
void Node::SendWhatFollowersLack() {
  for (auto& [id, progress] : tracker_.progress()) {
    if (id == config_.id) continue;
    while (WantsAppend(progress)) SendAppend(id, progress);
  }
}

void Node::SendAppend(MemberId to, Progress& progress) {
  if (!log_.TermAt(progress.next - 1).has_value()) return SendSnapshot(to, progress);
  if (IsWindowFull(progress)) return SendEntries(to, progress, {});
  if (progress.next <= log_.snapshot_index()) return FetchFor(to, progress);
  SendEntries(to, progress,
              log_.Range(progress.next, log_.last_index(), config_.max_append_size_bytes));
}

void Node::FetchFor(MemberId to, Progress& progress) {
  progress.is_fetching = true;
  fetches_.push_back({.peer = to,
                      .from = progress.next,
                      .to = log_.snapshot_index(),
                      .max_size_bytes = config_.max_append_size_bytes,
                      .terms = log_.stored_terms()});
}

void Node::Fetched(MemberId peer, Index from, std::span<const Entry> entries) {
  Progress* progress = role_ == Role::kLeader ? tracker_.Find(peer) : nullptr;
  if (progress == nullptr || !progress->is_fetching) return;
  progress->is_fetching = false;
  // It goes on elsewhere, or has to wait: it is read again if that is still needed.
  if (progress->next != from || !WantsAppend(*progress) || IsWindowFull(*progress)) return;
  Index next = from;
  if (!log_.TermAt(from - 1).has_value()) return;
  const bool is_right = !entries.empty() && std::ranges::all_of(entries, [&](const Entry& entry) {
    return entry.index == next++ && log_.Matches(entry.index, entry.term);
  });
  if (!is_right) return log_.KeepStored(0);
  SendEntries(peer, *progress, entries);
}

void Node::SendEntries(MemberId to, Progress& progress, std::span<const Entry> entries) {
  const Index previous = progress.next - 1;
  const Term previous_term = log_.TermAt(previous).value();
  std::size_t size_bytes = 0;
  for (const Entry& entry : entries) size_bytes += SizeBytes(entry);
  Send({.type = MessageType::kApp,
        .to = to,
        .log_term = previous_term,
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

// Raft: paper 7
void Node::SendSnapshot(MemberId to, Progress& progress) {
  if (!progress.is_active) {
    // A snapshot is too expensive for a follower that may be down: its next answer to a heartbeat
    // brings us back here.
    progress.BecomeProbe();
    progress.is_probe_sent = true;
    return;
  }
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->metadata = {.conf_state = tracker_.conf_state(),
                        .index = log_.applied(),
                        .term = log_.TermAt(log_.applied()).value()};
  progress.BecomeSnapshot(log_.applied());
  RecordEvent(EventType::kSnapshotSent, to, log_.applied());
  Send({.type = MessageType::kSnap, .to = to, .snapshot = std::move(snapshot)});
}

bool Node::HoldForSnapshot(MemberId to) {
  Progress* progress = role_ == Role::kLeader && to != config_.id ? tracker_.Find(to) : nullptr;
  if (progress == nullptr || !progress->is_active) return false;
  progress->BecomeSnapshot(log_.last_index() + 1);
  progress->must_take_snapshot = true;
  return true;
}

bool Node::HasLately(MemberId id, Index index) const {
  const auto found = tracker_.progress().find(id);
  if (role_ != Role::kLeader || found == tracker_.progress().end()) return false;
  const Progress& progress = found->second;
  return progress.match >= index && progress.lost == Index{0} &&
         !timers_.IsElectionTimeoutSince(progress.heard_at);
}

bool Node::IsHeldForSnapshot(MemberId to) const {
  const auto found = tracker_.progress().find(to);
  return role_ == Role::kLeader && found != tracker_.progress().end() &&
         found->second.must_take_snapshot;
}

void Node::SendHeldSnapshot(MemberId to) {
  Progress* progress = role_ == Role::kLeader ? tracker_.Find(to) : nullptr;
  if (progress == nullptr || !progress->must_take_snapshot) return;
  const Index index = std::max(progress->pending_snapshot, log_.applied());
  const std::optional<Term> term = log_.TermAt(index);
  if (!term.has_value()) return progress->BecomeProbe();  // the entry was not made
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->metadata = {.conf_state = tracker_.conf_state(), .index = index, .term = *term};
  progress->pending_snapshot = index;
  RecordEvent(EventType::kSnapshotSent, to, index);
  Send({.type = MessageType::kSnap, .to = to, .snapshot = std::move(snapshot)});
}

void Node::SendHeartbeats(std::uint64_t read_round) {
  const SharedBytes context = read_round == 0 ? SharedBytes() : EncodeContext(read_round);
  for (const auto& [id, progress] : tracker_.progress()) {
    if (id == config_.id) continue;
    // At most the index it is known to have: its log may still differ after that.
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
  progress->heard_at = timers_.now();
  const bool is_awaited = message.from == transfer_.to();
  if (message.reject) {
    HandleAppendRejection(message, *progress);
    return {};
  }
  if (message.index >= progress->match) progress->doubts = 0;
  const bool is_news = progress->Advance(message.index);
  if (const Index lost = progress->lost; progress->IsMadeGood()) {
    RecordEvent(EventType::kFollowerMadeGood, message.from, lost);
    AnswerConfirmedReads();
  }
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
      // At its present position the log can continue, whether this snapshot or something else
      // brought it there.
      if (progress->match >=
          (progress->must_take_snapshot ? progress->pending_snapshot : log_.continues_from()))
        progress->BecomeReplicate();
      break;
  }
  if (is_news) MaybeCommit();
  if (is_awaited && progress->match == log_.last_index()) SendTimeoutNow(message.from);
  return {};
}

// Raft: paper 5.3
void Node::HandleAppendRejection(const Message& message, Progress& progress) {
  if (progress.state == ProgressState::kSnapshot) return;
  // Its entry at reject_hint has the term log_term. Where our entries up to there have later terms
  // the logs cannot agree: skip whole terms instead of single entries.
  Index hint = std::min(message.reject_hint, log_.last_index());
  if (message.log_term > 0) hint = log_.FindConflictByTerm(hint, message.log_term).index;
  if (progress.match != 0 && message.index <= progress.match) {
    if (progress.Doubt(timers_.now())) LoseFollowersData(message.from, progress, hint);
    return;
  }
  if (!progress.Retreat(message.index, hint)) return;
  if (progress.state == ProgressState::kReplicate) progress.BecomeProbe();
  RecordEvent(EventType::kAppendRejected, message.from, progress.next);
}

void Node::LoseFollowersData(MemberId from, Progress& progress, Index hint) {
  RecordEvent(EventType::kFollowerLostData, from, progress.match);
  progress.LoseData(hint);
}

void Node::FollowerLostData(MemberId from) {
  Progress* progress = role_ == Role::kLeader && from != config_.id ? tracker_.Find(from) : nullptr;
  if (progress == nullptr || progress->match == 0) return;
  LoseFollowersData(from, *progress, progress->match);
}

void Node::HandleHeartbeatResponse(const Message& message) {
  Progress* progress = tracker_.Find(message.from);
  if (progress == nullptr) return;
  progress->is_active = true;
  progress->heard_at = timers_.now();
  // It is alive, so messages that it did not answer may be lost: ask for its last entry. Send no
  // more entries than the window holds: its disk may be stuck, and they would pile up in its
  // memory.
  progress->is_probe_sent = false;
  if (progress->state == ProgressState::kReplicate && progress->match < log_.last_index())
    progress->wants_append = true;
  if (message.context.empty()) return;
  reads_.Acknowledge(message.from, DecodeContext(message.context));
  AnswerConfirmedReads();
}

}  // namespace kvorum::raft
