// Leader election: roles, votes, time-outs (paper, section 5.2; thesis, chapters 4.2, 9.6).
#include <algorithm>
#include <utility>

#include "raft/node.h"

namespace kvorum::raft {

void Node::Reset(Term term) {
  if (term != term_) {
    term_ = term;
    vote_ = kNone;
  }
  leader_ = kNone;
  departed_leader_ = kNone;
  timers_.Restart();
  transfer_ = {};
  tracker_.ClearVotes();
  reads_.Clear();
  pending_change_ = {};
  acknowledged_ = 0;
  refused_ = {};
  for (auto& [id, progress] : tracker_.progress()) {
    progress = Progress{.next = log_.last_index() + 1, .heard_at = timers_.now()};
  }
}

void Node::BecomeFollower(Term term, MemberId leader) {
  Reset(term);
  role_ = Role::kFollower;
  leader_ = leader;
  RecordEvent(EventType::kBecameFollower, leader);
}

// Raft: thesis 9.6
void Node::BecomePreCandidate() {
  // Neither the term nor the vote changes: a pre-vote only asks.
  role_ = Role::kPreCandidate;
  leader_ = kNone;
  transfer_.ForgetOrder();
  tracker_.ClearVotes();
  RecordEvent(EventType::kBecamePreCandidate);
}

// Raft: paper 5.2
void Node::BecomeCandidate() {
  Reset(term_ + 1);
  role_ = Role::kCandidate;
  vote_ = config_.id;
  RecordEvent(EventType::kBecameCandidate);
}

// Raft: paper 5.4.2
void Node::BecomeLeader() {
  Reset(term_);
  role_ = Role::kLeader;
  leader_ = config_.id;
  timers_.HeardOfLeader();
  Progress& self = *tracker_.Find(config_.id);
  self.Advance(log_.persisted());
  self.BecomeReplicate();
  self.is_active = true;
  // The log may hold a configuration change that is not applied: the next change waits for all
  // entries present now.
  pending_change_.WaitFor(log_.last_index());
  // Entries of earlier leaders are committed only by an entry of our own term.
  AppendAsLeader(EntryType::kNormal, {});
  for (const Entry& entry : log_.Range(log_.first_unapplied(), log_.last_index())) {
    if (entry.type != EntryType::kNormal)
      pending_change_.NoteIfLeaving(entry, tracker_.conf_state(), config_.id);
  }
  RecordEvent(EventType::kBecameLeader, kNone, log_.last_index());
}

// Raft: thesis 4.2.1
bool Node::IsPromotable() const {
  return tracker_.IsVoter(config_.id) && !IsSnapshotPending() && !writes_.is_stalled() &&
         !lost_data_.stands();
}

// The first committed, unapplied configuration change; 0 if there is none.
Index Node::UnappliedConfChange() const {
  for (const Entry& entry : log_.Range(log_.first_unapplied(), log_.committed())) {
    if (entry.type != EntryType::kNormal) return entry.index;
  }
  return 0;
}

void Node::StartCampaign(CampaignType type) {
  if (role_ == Role::kLeader || !IsPromotable()) return;
  if (const Index index = UnappliedConfChange(); index != 0) {
    // The votes would be counted by an outdated configuration.
    RecordEvent(EventType::kCampaignSkipped, kNone, index);
    if (type == CampaignType::kTransfer) transfer_.PostponeOrder(timers_.ElectionTimeoutFromNow());
    return;
  }
  if (type == CampaignType::kPreElection) {
    BecomePreCandidate();
  } else {
    BecomeCandidate();
  }
  AskForVotes(type);
}

void Node::AskForVotes(CampaignType type) {
  const bool is_pre_vote = type == CampaignType::kPreElection;
  for (const auto& [id, progress] : tracker_.progress()) {
    if (id == config_.id || !tracker_.IsVoter(id)) continue;
    Message message{.type = is_pre_vote ? MessageType::kPreVote : MessageType::kVote,
                    .to = id,
                    .term = is_pre_vote ? term_ + 1 : term_,
                    .log_term = log_.last_term(),
                    .index = log_.last_index()};
    if (type == CampaignType::kTransfer) message.context = SharedBytes::Static(kTransferContext);
    Send(std::move(message));
  }
  // Our own vote counts when it is Persisted; a pre-vote is not stored.
  if (is_pre_vote) CountVote(config_.id, true);
}

// Raft: paper 5.2
void Node::CountVote(MemberId from, bool granted) {
  if (!tracker_.IsVoter(from)) return;  // not asked
  tracker_.RecordVote(from, granted);
  switch (tracker_.CountVotes()) {
    case VoteResult::kPending:
      return;
    case VoteResult::kLost:
      BecomeFollower(term_, kNone);
      return;
    case VoteResult::kWon:
      if (!tracker_.HasVoteOf(config_.id)) return;  // ours is not on disk yet
      if (role_ == Role::kPreCandidate) {
        StartCampaign(CampaignType::kElection);
      } else {
        BecomeLeader();
      }
      return;
  }
}

// The request is of our term, or a pre-vote of a later one.
//
// A learner votes like a voter. The candidate asks those that its configuration names as voters,
// and that may be newer than ours: this member may have been promoted by an entry that it has not
// applied, or does not even have. Say that 1 is the only voter, promotes 2 and restarts. It needs
// the vote of 2, and 2 can learn of its promotion from a leader only: if it refused, no member
// would ever lead. This is safe: only a candidate whose applied, hence committed, configuration has
// 2 as a voter counts the answer (CountVote), 2 votes once in a term, and only for a log that is up
// to date. The other way round nothing is gained: a learner does not campaign (IsPromotable) and is
// not asked.
//
// A granted pre-vote carries the term that was asked about, since the candidate is still in the
// term before: the term tells it whether the answer is to this attempt or to an earlier one. A
// refusal carries our own term: where that is later, the candidate follows it, and asks next time
// about a term that can win.
// Raft: paper 5.4.1; thesis 4.2.1
void Node::HandleVoteRequest(const Message& message) {
  const bool is_pre_vote = message.type == MessageType::kPreVote;
  const bool is_free = vote_ == message.from || (vote_ == kNone && leader_ == kNone) ||
                       (is_pre_vote && message.term > term_);
  // With data lost, our log does not tell what a leader must have.
  const bool granted =
      is_free && !lost_data_.stands() && log_.IsUpToDate(message.index, message.log_term);
  // A refused pre-vote tells our term, and one whose disk was wiped has none yet.
  if (!granted && term_ == 0) return;
  Send({.type = is_pre_vote ? MessageType::kPreVoteResp : MessageType::kVoteResp,
        .reject = !granted,
        .to = message.from,
        .term = granted ? message.term : term_});
  if (is_pre_vote) {
    RecordEvent(granted ? EventType::kPreVoteGranted : EventType::kPreVoteRefused, message.from,
                message.index);
    return;
  }
  RecordEvent(granted ? EventType::kVoteGranted : EventType::kVoteRefused, message.from,
              message.index);
  if (granted) {
    timers_.RestartElection();
    vote_ = message.from;
  }
}

void Node::HandlePreVoteResponse(const Message& message) {
  if (role_ == Role::kPreCandidate && (message.reject || message.term == term_ + 1))
    CountVote(message.from, !message.reject);
}

void Node::TickFollower() {
  if (!timers_.TickFollower()) return;
  MaybeMakeGood();  // it may be alone, now that it hears no other member
  if (IsPromotable()) {
    timers_.RestartElection();
    Campaign();
  }
  ForgetLeader();
}

// A member that may not campaign (a learner, or one whose disk is stuck) must also forget a leader
// that it no longer hears. The vote that this frees does no harm: the leader has the votes of a
// majority in this term.
void Node::ForgetLeader() {
  if (role_ != Role::kFollower || leader_ == kNone) return;
  leader_ = kNone;
  RecordEvent(EventType::kBecameFollower);
}

void Node::TickLeader() {
  if (config_.check_quorum) CheckQuorum();
  if (role_ != Role::kLeader) return;
  if (timers_.TickLeader()) {
    for (auto& [id, progress] : tracker_.progress()) progress.is_active = id == config_.id;
    AbortTransfer();  // it had an election time-out to succeed (thesis, section 3.10)
    if (!tracker_.IsVoter(config_.id)) TransferToSuccessor();
  }
  if (writes_.is_stalled() && !tracker_.IsOnlyVoter(config_.id)) {
    StopLeadingWithoutDisk();
    if (role_ != Role::kLeader) return;
  }
  if (timers_.TickHeartbeat()) SendHeartbeats(reads_.RoundToRepeat());
}

// A leader that does not hear from a quorum steps down, so that its clients look elsewhere.
// Raft: thesis 6.2
void Node::CheckQuorum() {
  const std::uint64_t now = timers_.now();
  const std::uint64_t heard_at = std::min(tracker_.QuorumHeardAt(config_.id, now), now);
  timers_.HeardOfQuorum(heard_at);
  if (!timers_.IsQuorumLost(heard_at)) return;
  RecordEvent(EventType::kQuorumLost);
  BecomeFollower(term_, kNone);
}

// Raft: thesis 4.2.3
bool Node::IsInLease() const {
  return config_.check_quorum && leader_ != kNone && timers_.IsLeaderFresh();
}

}  // namespace kvorum::raft
