// Proposals: clients' data and configuration changes enter the leader's log.
#include <utility>

#include "base/check.h"
#include "raft/conf_change.h"
#include "raft/node.h"

namespace kvorum::raft {

ProposeResult Node::Propose(std::span<SharedBytes> batch) {
  if (role_ == Role::kLeader) {
    if (const Dropped why = WhyNotPropose(); why != Dropped::kNot) return {.dropped = why};
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!HasRoomFor(batch[i].size())) return {.accepted = i, .dropped = Dropped::kTooMuchPending};
      AppendAsLeader(EntryType::kNormal, std::move(batch[i]));
    }
    return {.accepted = batch.size()};
  }
  if (leader_ == kNone) return {.dropped = Dropped::kNoLeader};
  ForwardProposals(batch);
  return {.accepted = batch.size()};
}

// Forwards to the leader, in messages of about the size of an App.
void Node::ForwardProposals(std::span<SharedBytes> batch) {
  while (!batch.empty()) {
    Message message{.type = MessageType::kProp, .to = leader_};
    std::size_t size_bytes = 0;
    while (!batch.empty() && size_bytes < config_.max_append_size_bytes) {
      size_bytes += batch.front().size();
      message.entries.push_back({.data = std::move(batch.front())});
      batch = batch.subspan(1);
    }
    Send(std::move(message));
  }
}

ProposeResult Node::ProposeConfChange(EntryType type, SharedBytes data) {
  const Result<ConfChangeV2> change = DecodeConfChangeEntry(type, data);
  KV_CHECK(change.has_value(), "a proposed configuration change does not decode");
  KV_CHECK(type == EntryType::kConfChange || config_.takes_conf_change_v2,
           "a proposed configuration change is of a kind that is not supported");
  if (role_ == Role::kLeader) {
    if (const Dropped why = WhyNotPropose(); why != Dropped::kNot) return {.dropped = why};
    if (!MayChangeConf(*change)) return {.dropped = Dropped::kConfChangePending};
    if (!HasRoomFor(data.size())) return {.dropped = Dropped::kTooMuchPending};
    AppendAsLeader(type, std::move(data));
    return {.accepted = 1};
  }
  if (leader_ == kNone) return {.dropped = Dropped::kNoLeader};
  Message message{.type = MessageType::kProp, .to = leader_};
  message.entries.push_back({.type = type, .data = std::move(data)});
  Send(std::move(message));
  return {.accepted = 1};
}

Dropped Node::WhyNotPropose() const {
  // No entry follows the one that removes the leader. Then the others need only have that entry to
  // get this member's vote, for which they may still ask while they do not know that its removal is
  // committed.
  if (pending_change_.is_leaving() || !tracker_.IsVoter(config_.id)) return Dropped::kNotMember;
  if (transfer_.is_under_way()) return Dropped::kTransferring;
  return Dropped::kNot;
}

bool Node::HasRoomFor(std::size_t size_bytes) const {
  // A single entry of any size may always go; an empty one costs nothing.
  const auto fits = [&](std::size_t waiting_size_bytes, std::size_t max_size_bytes) {
    return waiting_size_bytes == 0 || waiting_size_bytes + size_bytes <= max_size_bytes;
  };
  return size_bytes == 0 ||
         (fits(log_.uncommitted_data_bytes(), config_.max_uncommitted_size_bytes) &&
          fits(log_.unapplied_size_bytes(), config_.max_unapplied_size_bytes));
}

void Node::AppendAsLeader(EntryType type, SharedBytes data) {
  const Index index = log_.last_index() + 1;
  log_.Append({.term = term_, .index = index, .type = type, .data = std::move(data)});
  if (type == EntryType::kNormal) return;
  pending_change_.WaitFor(index);
  pending_change_.NoteIfLeaving(log_.Range(index, index).front(), tracker_.conf_state(),
                                config_.id);
}

// A follower's proposals. A change that this leader may not propose becomes an empty entry, so that
// the sender's indexes stay right; the sender learns of it by a time-out, as for any lost proposal.
Result<void> Node::HandleProposals(Message& message) {
  if (!tracker_.IsMember(message.from)) return {};  // not any more, or not yet
  for (Entry& entry : message.entries) {
    if (WhyNotPropose() != Dropped::kNot || !HasRoomFor(entry.data.size())) return {};
    if (entry.type != EntryType::kNormal) {
      const Result<ConfChangeV2> change = DecodeConfChangeEntry(entry.type, entry.data);
      if (!change.has_value() || !MayChangeConf(*change)) {
        entry = {};
        RecordEvent(EventType::kConfChangeRefused, message.from, log_.last_index() + 1);
      }
    }
    AppendAsLeader(entry.type, std::move(entry.data));
  }
  return {};
}

// One change at a time: the next one may be proposed when the last one is applied, and a joint
// configuration must be left before anything else.
// Raft: thesis 4.1
bool Node::MayChangeConf(const ConfChangeV2& change) const {
  return !pending_change_.IsPending(log_.applied()) && tracker_.IsJoint() == LeavesJoint(change);
}

void Node::MaybeLeaveJoint() {
  if (role_ != Role::kLeader || !tracker_.conf_state().auto_leave ||
      pending_change_.IsPending(log_.applied()))
    return;
  AppendAsLeader(EntryType::kConfChangeV2, SharedBytes::Own(Encode(ConfChangeV2{})));
}

}  // namespace kvorum::raft
