// Leadership transfer: on request, at a removal, away from a stalled disk (thesis, sections 3.10
// and 4.2.2).
#include <algorithm>
#include <utility>

#include "raft/node.h"

namespace kvorum::raft {

Dropped Node::TransferLeadership(MemberId to) {
  if (role_ == Role::kLeader) return StartTransfer(to);
  if (leader_ == kNone) return Dropped::kNoLeader;
  // The `from` of this message is not its sender, but the member that is to lead.
  Send({.type = MessageType::kTransferLeader, .to = leader_, .from = to});
  return Dropped::kNot;
}

// Raft: thesis 3.10
Dropped Node::StartTransfer(MemberId transferee) {
  if (!tracker_.IsVoter(transferee)) return Dropped::kNotMember;
  if (transferee == config_.id || transferee == transfer_.to()) return Dropped::kNot;
  AbortTransfer();
  transfer_.Start(transferee);
  timers_.RestartElection();
  RecordEvent(EventType::kTransferStarted, transferee);
  Progress& progress = *tracker_.Find(transferee);
  if (progress.match == log_.last_index()) {
    SendTimeoutNow(transferee);
  } else {
    progress.wants_append = true;
  }
  return Dropped::kNot;
}

// A leader that is no longer a voter leads on, without counting itself, until another one takes
// over: the others may not know yet that its removal is committed, and would campaign by the
// configuration that needs its vote. (The thesis lets it step down: there a configuration takes
// effect as soon as it is in the log.)
// Raft: thesis 4.2.2
void Node::TransferToSuccessor() { StartTransfer(BestSuccessor()); }

MemberId Node::BestSuccessor(std::optional<std::span<const MemberId>> among) const {
  return role_ == Role::kLeader ? raft::BestSuccessor(tracker_, config_.id, timers_, among) : kNone;
}

// The message carries the commit index. A successor that does not know that the leader's removal is
// committed would count votes by the previous configuration, and depose the only member that tells
// the others; if that one then goes, its vote is missing for ever.
void Node::SendTimeoutNow(MemberId to) {
  Send({.type = MessageType::kTimeoutNow, .to = to, .commit = log_.committed()});
}

// The order goes to a member that has all of the leader's log, so ours agrees with it up to there.
void Node::HandleTimeoutNow(const Message& message) {
  if (role_ != Role::kFollower) return;
  if (message.from != leader_ && message.from != departed_leader_) return;
  log_.CommitTo(std::min(message.commit, log_.last_index()));
  StartCampaign(CampaignType::kTransfer);
}

// The change that the order waited for is applied. The order expires when the leader stops waiting:
// a candidate that follows it asks for votes although a leader is heard, and would depose one that
// has given the transfer up long ago and serves its clients. (A leader that was removed orders
// again.)
void Node::FollowCampaignOrder() {
  if (transfer_.TakeOrder(timers_.now())) StartCampaign(CampaignType::kTransfer);
}

void Node::AbortTransfer() {
  if (transfer_.is_under_way()) RecordEvent(EventType::kTransferAborted, transfer_.End());
}

// The leader has lost its vote: it takes no proposals, and soon no member hears from it. Its
// messages about the log are still true. Its successor campaigns at once if it gets the order to do
// so; otherwise some member does without waiting for an election time-out.
void Node::LeaderDeparts() {
  departed_leader_ = std::exchange(leader_, kNone);
  RecordEvent(EventType::kLeaderDeparted, departed_leader_);
  timers_.HurryElection();
}

// A lagging member applied an old departure, and by now the leader's return.
void Node::ForgetDeparture() {
  if (tracker_.IsVoter(departed_leader_)) departed_leader_ = kNone;
}

void Node::WatchDisk() {
  const bool is_stalled =
      !writes_.empty() && timers_.IsElectionTimeoutSince(writes_.oldest().given_at);
  if (!writes_.SetStalled(is_stalled)) return;
  transfer_.DiskChanged();
  RecordEvent(is_stalled ? EventType::kDiskStalled : EventType::kDiskRecovered);
}

// The followers' disks may be fast, but no entry is applied, and so no client answered, here before
// our own disk has it. The voter with most of the log takes over without waiting for an election
// time-out; if it does not, the others elect a leader.
void Node::StopLeadingWithoutDisk() {
  if (transfer_.is_under_way()) return;
  const MemberId successor = BestSuccessor();
  if (successor == kNone || !transfer_.MayTryWithoutDisk()) {
    BecomeFollower(term_, kNone);
    return;
  }
  StartTransfer(successor);
}

}  // namespace kvorum::raft
