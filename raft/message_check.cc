#include "raft/message_check.h"

#include <algorithm>
#include <string>

#include "raft/conf_change.h"

namespace kvorum::raft {

namespace {

// A term so far ahead of ours is nonsense too, except to a member that knows nothing yet: it would
// take seven weeks of an election every millisecond. A forged one would use up the remaining
// numbers, for the whole cluster.
constexpr std::uint64_t kMaxTermLead = std::uint64_t{1} << 32;

// The contexts of members' reads: 8 bytes, as far as we know.
constexpr std::size_t kMaxContextBytes = 64;

Result<void> CheckAddress(const Message& message, const Receiver& receiver) {
  if (!IsFromPeer(message.type)) return BadMessage(message, "not for members to send");
  const bool is_transfer = message.type == MessageType::kTransferLeader;  // from: the leader to be
  if (message.from == kNone || (message.from == receiver.id && !is_transfer))
    return BadMessage(message, "sender");
  if (message.to != kNone && message.to != receiver.id) return BadMessage(message, "receiver");
  return {};
}

Result<void> CheckNumbers(const Message& message, const Receiver& receiver) {
  if (message.term.value() > kMaxNumber || message.index.value() > kMaxNumber)
    return BadMessage(message, "a term or index that cannot be");
  const bool is_ahead = message.term > receiver.term && message.term - receiver.term > kMaxTermLead;
  if (is_ahead && !receiver.knows_nothing) return BadMessage(message, "a term too far ahead");
  return {};
}

Result<void> CheckAppend(const Message& message) {
  if (!AreConsecutive(message.entries, message.index, message.log_term))
    return BadMessage(message, "entries that do not follow each other");
  if (!message.entries.empty() && message.entries.back().term > message.term)
    return BadMessage(message, "an entry of a later term");
  return {};
}

Result<void> CheckSnapshot(const Message& message) {
  if (message.snapshot == nullptr || message.snapshot->empty())
    return BadMessage(message, "no snapshot");
  const SnapshotMetadata& metadata = message.snapshot->metadata;
  if (metadata.term > message.term || metadata.index.value() > kMaxNumber)
    return BadMessage(message, "a snapshot that cannot be");
  if (metadata.conf_state.voters.empty())
    return BadMessage(message, "its configuration has no voters");
  KV_RETURN_IF_ERROR(CheckConfState(metadata.conf_state));
  return {};
}

// A driver that cannot apply them would have to end this member later.
Result<void> CheckConfChanges(const Message& message) {
  if (HasConfChangeV2(message.entries))
    return BadMessage(message, "a configuration change of a kind that is not supported");
  if (message.snapshot != nullptr && IsJoint(message.snapshot->metadata.conf_state))
    return BadMessage(message, "a joint configuration, which is not supported");
  return {};
}

Result<void> CheckReadContext(const Message& message) {
  if (message.entries.size() != 1) return BadMessage(message, "no context");
  if (message.entries.front().data.size() > kMaxContextBytes)
    return BadMessage(message, "a context that is too long");
  return {};
}

Result<void> CheckContent(const Message& message) {
  if (message.type == MessageType::kApp) return CheckAppend(message);
  if (message.type == MessageType::kSnap) return CheckSnapshot(message);
  if (message.type == MessageType::kReadIndex || message.type == MessageType::kReadIndexResp)
    return CheckReadContext(message);
  if (message.type == MessageType::kProp && message.entries.empty())
    return BadMessage(message, "no entries");
  return {};
}

}  // namespace

Result<void> CheckMessage(const Message& message, const Receiver& receiver) {
  KV_RETURN_IF_ERROR(CheckAddress(message, receiver));
  KV_RETURN_IF_ERROR(CheckNumbers(message, receiver));
  KV_RETURN_IF_ERROR(CheckContent(message));
  if (!receiver.takes_conf_change_v2) KV_RETURN_IF_ERROR(CheckConfChanges(message));
  if (message.term == 0 && !IsRequestToLeader(message.type)) return BadMessage(message, "no term");
  return {};
}

bool IsRequestToLeader(MessageType type) {
  return type == MessageType::kProp || type == MessageType::kReadIndex ||
         type == MessageType::kTransferLeader;
}

bool HasConfChangeV2(std::span<const Entry> entries) {
  return std::ranges::find(entries, EntryType::kConfChangeV2, &Entry::type) != entries.end();
}

bool AreConsecutive(std::span<const Entry> entries, Index index, Term term) {
  for (const Entry& entry : entries) {
    if (entry.index != ++index || entry.term < term) return false;
    term = entry.term;
  }
  return true;
}

std::unexpected<Error> BadMessage(const Message& message, std::string_view why) {
  return Fail(Code::kInvalidArgument,
              "raft: refused " + std::string(Name(message.type)) + ": " + std::string(why));
}

}  // namespace kvorum::raft
