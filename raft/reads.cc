// Linearizable reads without the log (thesis, section 6.4).
#include <limits>
#include <utility>

#include "raft/message_check.h"
#include "raft/node.h"
#include "raft/quorum.h"

namespace kvorum::raft {

Dropped Node::ReadIndex(std::uint64_t context) {
  if (role_ == Role::kLeader) return AddRead(config_.id, EncodeContext(context));
  if (leader_ == kNone) return Dropped::kNoLeader;
  // The term says that this member was in it when the read had begun (VouchesFor). A member that
  // lost data may have lost its vote for a later leader too, and names none.
  Message message{.type = MessageType::kReadIndex,
                  .to = leader_,
                  .term = lost_data_.stands() ? Term{0} : term_};
  message.entries.push_back({.data = EncodeContext(context)});
  Send(std::move(message));
  return Dropped::kNot;
}

// A round asks a quorum, after the read has begun, whether a later term may have a leader. A
// follower that names our term in its request has answered that: it sent it after its read had
// begun, and until then it had not voted in a later term. Nor have we, now. If the two of us are a
// quorum, no member had won a later term when the read began, so every entry committed by then is
// committed in our log. The request vouches for this read alone: others may have come since it was
// sent. However late it arrives, the argument is of the time at which it was sent.
// Raft: thesis 6.4
bool Node::VouchesFor(const Message& request) const {
  if (request.term != term_) return false;
  return QuorumValue(tracker_.conf_state(), [&](MemberId id) {
    return id == config_.id || (id == request.from && tracker_.progress().at(id).lost == Index{0});
  });
}

void Node::HandleReadIndex(Message& message) {
  const MemberId requester = message.from;
  SharedBytes& context = message.entries.front().data;
  if (HasCommittedInTerm() && VouchesFor(message)) {
    AnswerRead({.requester = requester, .context = std::move(context), .index = log_.committed()});
  } else {
    AddRead(requester, std::move(context));
  }
}

// Raft: thesis 6.4; thesis 6.4.1
Dropped Node::AddRead(MemberId requester, SharedBytes context) {
  if (reads_.size() >= config_.max_pending_reads) return Dropped::kTooMuchPending;
  if (!HasCommittedInTerm()) {
    reads_.Postpone(requester, std::move(context));
    return Dropped::kNot;
  }
  if (tracker_.IsOnlyVoter(config_.id) || config_.read_mode == ReadMode::kLease) {
    AnswerRead({.requester = requester, .context = std::move(context), .index = log_.committed()});
  } else {
    reads_.Add(requester, std::move(context), log_.committed());
  }
  return Dropped::kNot;
}

Result<void> Node::HandleReadResponse(const Message& message) {
  if (role_ != Role::kFollower || message.from != leader_) return {};
  if (message.entries.front().data.size() != sizeof(std::uint64_t))
    return BadMessage(message, "a context that is not ours");
  read_states_.push_back(
      {.context = DecodeContext(message.entries.front().data), .index = message.index});
  return {};
}

void Node::AnswerRead(const PendingRead& read) {
  if (read.requester == config_.id) {
    read_states_.push_back({.context = DecodeContext(read.context), .index = read.index});
    return;
  }
  Message message{.type = MessageType::kReadIndexResp, .to = read.requester, .index = read.index};
  message.entries.push_back({.data = read.context});
  Send(std::move(message));
}

// A leader has every committed entry, but knows which are committed only when it has committed one
// of its term.
// Raft: thesis 6.4
bool Node::HasCommittedInTerm() const { return log_.TermAt(log_.committed()) == term_; }

void Node::ReleasePostponedReads() {
  for (PendingRead& read : reads_.TakePostponed()) {
    AddRead(read.requester, std::move(read.context));
  }
}

void Node::AnswerConfirmedReads() {
  const std::uint64_t round = QuorumValue(tracker_.conf_state(), [&](MemberId id) {
    if (id == config_.id) return std::numeric_limits<std::uint64_t>::max();
    // A member that lost data may also have lost its vote for a later leader.
    return tracker_.progress().at(id).lost != 0 ? 0 : reads_.AcknowledgedBy(id);
  });
  for (const PendingRead& read : reads_.TakeConfirmed(round)) AnswerRead(read);
}

}  // namespace kvorum::raft
