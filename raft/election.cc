// Who leads: roles, votes, time-outs, transfer (paper, section 5.2; thesis,
// chapters 3.10, 4.2, 9.6).
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
  election_elapsed_ = 0;
  heartbeat_elapsed_ = 0;
  // Between one and two time-outs, so that members seldom stand against each other (paper, 5.2).
  election_timeout_ =
      config_.election_ticks +
      static_cast<int>(rng_.Below(static_cast<std::uint64_t>(config_.election_ticks)));
  transferee_ = kNone;
  has_tried_hand_over_ = false;
  campaign_order_ends_ = 0;
  tracker_.ClearVotes();
  reads_.Clear();
  pending_conf_index_ = 0;
  acknowledged_ = 0;
  is_leaving_ = false;
  uncommitted_size_bytes_ = 0;
  for (auto& [id, progress] : tracker_.progress()) {
    progress = Progress{.next = log_.last_index() + 1, .heard_at = ticks_};
  }
}

void Node::BecomeFollower(Term term, MemberId leader) {
  Reset(term);
  role_ = Role::kFollower;
  leader_ = leader;
  Happened(EventType::kBecameFollower, leader);
}

void Node::BecomePreCandidate() {
  // Neither the term nor the vote change: a pre-vote is only a question (thesis, section 9.6).
  role_ = Role::kPreCandidate;
  leader_ = kNone;
  campaign_order_ends_ = 0;
  tracker_.ClearVotes();
  Happened(EventType::kBecamePreCandidate);
}

void Node::BecomeCandidate() {
  Reset(term_ + 1);
  role_ = Role::kCandidate;
  vote_ = config_.id;
  Happened(EventType::kBecameCandidate);
}

void Node::BecomeLeader() {
  Reset(term_);
  role_ = Role::kLeader;
  leader_ = config_.id;
  leader_heard_at_ = ticks_;
  for (const Entry& entry : log_.Range(log_.committed() + 1, log_.last_index()))
    uncommitted_size_bytes_ += entry.data.size();
  Progress& self = *tracker_.Find(config_.id);
  self.Advance(log_.persisted());
  self.BecomeReplicate();
  self.is_active = true;
  // There may be a configuration change in the log that is not applied: the next one waits for all
  // that is there now.
  pending_conf_index_ = log_.last_index();
  // What earlier leaders left is committed by an entry of our own term only (paper, section 5.4.2).
  AppendAsLeader(EntryType::kNormal, {});
  for (const Entry& entry : log_.Range(log_.first_unapplied(), log_.last_index())) {
    if (entry.type != EntryType::kNormal) NoteIfLeaving(entry);
  }
  Happened(EventType::kBecameLeader, kNone, log_.last_index());
}

// The leader's vote has been taken from it: it takes no proposals, and soon nobody hears of it.
// What it still says of the log is true. Its successor stands at once, if the order to do so gets
// through; else somebody does without an election time-out's silence.
void Node::LeaderDeparts() {
  departed_leader_ = std::exchange(leader_, kNone);
  Happened(EventType::kLeaderDeparted, departed_leader_);
  const auto half = static_cast<std::uint64_t>(std::max(config_.election_ticks / 2, 1));
  const int wait = 1 + static_cast<int>(rng_.Below(half));
  election_elapsed_ = std::max(election_elapsed_, election_timeout_ - wait);
}

// One who lags behind applied an old departure, and by now the leader's return.
void Node::ForgetDeparture() {
  if (tracker_.IsVoter(departed_leader_)) departed_leader_ = kNone;
}

bool Node::IsPromotable() const {
  return tracker_.IsVoter(config_.id) && !IsSnapshotPending() && !is_disk_stalled_;
}

// The first committed, unapplied change of the configuration; 0 if there is none.
Index Node::UnappliedConfChange() const {
  for (const Entry& entry : log_.Range(log_.first_unapplied(), log_.committed())) {
    if (entry.type != EntryType::kNormal) return entry.index;
  }
  return 0;
}

void Node::StartCampaign(CampaignType type) {
  if (role_ == Role::kLeader || !IsPromotable()) return;
  if (const Index index = UnappliedConfChange(); index != 0) {
    // We would count votes by a configuration that is over.
    Happened(EventType::kCampaignSkipped, kNone, index);
    if (type == CampaignType::kTransfer)
      campaign_order_ends_ = ticks_ + static_cast<std::uint64_t>(config_.election_ticks);
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

// Paper, section 5.4.1. Of our term, or a pre-vote of a later one.
void Node::HandleVoteRequest(const Message& message) {
  const bool is_pre_vote = message.type == MessageType::kPreVote;
  const bool is_free = vote_ == message.from || (vote_ == kNone && leader_ == kNone) ||
                       (is_pre_vote && message.term > term_);
  // A learner may vote too: the candidate may know that it was promoted before it does.
  const bool granted = is_free && log_.IsUpToDate(message.index, message.log_term);
  Send({.type = is_pre_vote ? MessageType::kPreVoteResp : MessageType::kVoteResp,
        .reject = !granted,
        .to = message.from,
        .term = granted ? message.term : term_});
  if (is_pre_vote) {
    Happened(granted ? EventType::kPreVoteGranted : EventType::kPreVoteRefused, message.from,
             message.index);
    return;
  }
  Happened(granted ? EventType::kVoteGranted : EventType::kVoteRefused, message.from,
           message.index);
  if (granted) {
    election_elapsed_ = 0;
    vote_ = message.from;
  }
}

void Node::TickFollower() {
  if (election_elapsed_ < election_timeout_) ++election_elapsed_;
  if (election_elapsed_ < election_timeout_) return;
  if (IsPromotable()) {
    election_elapsed_ = 0;
    Campaign();
  }
  ForgetLeader();
}

// One who may not stand (a learner, or while its disk is stuck) does not believe for ever in a
// leader that it hears nothing of. The vote that this sets free does no harm: the leader has those
// of a majority in this term.
void Node::ForgetLeader() {
  if (role_ != Role::kFollower || leader_ == kNone) return;
  leader_ = kNone;
  Happened(EventType::kBecameFollower);
}

void Node::TickLeader() {
  ++heartbeat_elapsed_;
  if (config_.check_quorum) CheckQuorum();
  if (role_ != Role::kLeader) return;
  if (++election_elapsed_ >= config_.election_ticks) {
    election_elapsed_ = 0;
    for (auto& [id, progress] : tracker_.progress()) progress.is_active = id == config_.id;
    AbortTransfer();  // it had an election time-out to succeed (thesis, section 3.10)
    if (!tracker_.IsVoter(config_.id)) HandOver();
  }
  if (is_disk_stalled_ && !tracker_.IsOnlyVoter(config_.id)) {
    StopLeadingWithoutDisk();
    if (role_ != Role::kLeader) return;
  }
  if (heartbeat_elapsed_ >= config_.heartbeat_ticks) {
    heartbeat_elapsed_ = 0;
    SendHeartbeats(reads_.RoundToRepeat());
  }
}

void Node::WatchDisk() {
  const bool is_stalled =
      !writes_.empty() &&
      ticks_ - writes_.oldest().given_at >= static_cast<std::uint64_t>(config_.election_ticks);
  if (is_stalled == is_disk_stalled_) return;
  is_disk_stalled_ = is_stalled;
  has_tried_hand_over_ = false;
  Happened(is_stalled ? EventType::kDiskStalled : EventType::kDiskRecovered);
}

// The followers' disks may be quick, but nothing is applied and so nobody answered here before our
// own has it. Whoever has most of the log takes over without an election time-out's silence; if it
// does not, the others find one.
void Node::StopLeadingWithoutDisk() {
  if (transferee_ != kNone) return;
  const MemberId successor = BestSuccessor();
  if (successor == kNone || std::exchange(has_tried_hand_over_, true)) {
    BecomeFollower(term_, kNone);
    return;
  }
  StartTransfer(successor);
}

// A leader that does not hear of a quorum makes room, so that its clients look elsewhere (thesis,
// section 6.2). It bears one and a half election time-outs of silence: where the quorum is looked
// at once in an election time-out, as in etcd, it is between one and two, as the silence falls.
void Node::CheckQuorum() {
  const std::uint64_t heard_at = std::min(tracker_.QuorumHeardAt(config_.id, ticks_), ticks_);
  leader_heard_at_ = std::max(leader_heard_at_, heard_at);
  const auto election_ticks = static_cast<std::uint64_t>(config_.election_ticks);
  const std::uint64_t limit = election_ticks + election_ticks / 2;
  if (ticks_ - heard_at < limit) return;
  Happened(EventType::kQuorumLost);
  BecomeFollower(term_, kNone);
}

bool Node::IsInLease() const {
  return config_.check_quorum && leader_ != kNone && election_elapsed_ < config_.election_ticks;
}

Dropped Node::StartTransfer(MemberId transferee) {
  if (!tracker_.IsVoter(transferee)) return Dropped::kNotMember;
  if (transferee == config_.id || transferee == transferee_) return Dropped::kNot;
  AbortTransfer();
  transferee_ = transferee;
  election_elapsed_ = 0;
  Happened(EventType::kTransferStarted, transferee);
  Progress& progress = *tracker_.Find(transferee);
  if (progress.match == log_.last_index()) {
    SendTimeoutNow(transferee);
  } else {
    progress.wants_append = true;
  }
  return Dropped::kNot;
}

// A leader that is no voter any more leads on, without counting itself, until another one takes
// over: the others may not know yet that its removal is committed, and would stand by the
// configuration that needs its vote (the thesis, section 4.2.2, lets it step down: there a
// configuration counts as soon as it is in the log).
void Node::HandOver() { StartTransfer(BestSuccessor()); }

// A transfer to one that does not answer costs an election time-out without a leader, one to a log
// that lags behind costs the time to send the rest; so both count, in this order. How long a member
// has been connected, which etcd's server goes by, says neither.
MemberId Node::BestSuccessor() const {
  if (role_ != Role::kLeader) return kNone;
  MemberId successor = kNone;
  std::pair<bool, Index> best;
  for (const MemberId id : tracker_.conf_state().voters) {
    if (id == config_.id) continue;
    const Progress& progress = tracker_.progress().at(id);
    const bool is_heard =
        ticks_ - progress.heard_at < static_cast<std::uint64_t>(config_.election_ticks);
    const std::pair<bool, Index> merit(is_heard, progress.match);
    if (successor != kNone && merit <= best) continue;
    successor = id;
    best = merit;
  }
  return successor;
}

// The commit index goes with it. A successor that does not know that the leader's removal is
// committed would count votes by the configuration before it, and depose the only one who tells the
// others; if that one then goes, its vote is missing for ever.
void Node::SendTimeoutNow(MemberId to) {
  Send({.type = MessageType::kTimeoutNow, .to = to, .commit = log_.committed()});
}

// Sent to one who has all of the leader's log, so ours agrees with it up to there.
void Node::HandleTimeoutNow(const Message& message) {
  CommitTo(std::min(message.commit, log_.last_index()));
  StartCampaign(CampaignType::kTransfer);
}

// What the order waited for is applied. It does not count for longer than the leader waits: one who
// stands by it asks for votes in spite of a leader that is heard, and would depose one that has
// long given the transfer up and serves its clients. (A leader that was removed orders anew.)
void Node::FollowCampaignOrder() {
  const bool counts = ticks_ < std::exchange(campaign_order_ends_, 0);
  if (counts) StartCampaign(CampaignType::kTransfer);
}

void Node::AbortTransfer() {
  if (transferee_ == kNone) return;
  Happened(EventType::kTransferAborted, std::exchange(transferee_, kNone));
}

}  // namespace kvorum::raft
