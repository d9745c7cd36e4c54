#include "proto/raft_types.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "proto/wire.h"

namespace kvorum::raft {

namespace {

namespace field {  // field numbers of raftpb
namespace entry {
constexpr std::uint32_t kType = 1, kTerm = 2, kIndex = 3, kData = 4;
}
namespace hard_state {
constexpr std::uint32_t kTerm = 1, kVote = 2, kCommit = 3;
}
namespace conf_state {
constexpr std::uint32_t kVoters = 1, kLearners = 2, kVotersOutgoing = 3, kLearnersNext = 4,
                        kAutoLeave = 5;
}
namespace snapshot_metadata {
constexpr std::uint32_t kConfState = 1, kIndex = 2, kTerm = 3;
}
namespace snapshot {
constexpr std::uint32_t kData = 1, kMetadata = 2;
}
namespace message {  // 14, responses, exists within a member only and is skipped
constexpr std::uint32_t kType = 1, kTo = 2, kFrom = 3, kTerm = 4, kLogTerm = 5, kIndex = 6,
                        kEntries = 7, kCommit = 8, kSnapshot = 9, kReject = 10, kRejectHint = 11,
                        kContext = 12, kVote = 13;
}
namespace conf_change {
constexpr std::uint32_t kId = 1, kType = 2, kNodeId = 3, kContext = 4;
}
namespace conf_change_single {
constexpr std::uint32_t kType = 1, kNodeId = 2;
}
namespace conf_change_v2 {
constexpr std::uint32_t kTransition = 1, kChanges = 2, kContext = 3;
}
}  // namespace field

// From this size on, EncodeChain shares an entry's data instead of copying it: below, a slice and
// its reference count cost more than the copy.
constexpr std::size_t kShareFromBytes = 1024;

template <class Enum>
constexpr std::uint64_t Number(Enum value) {
  return static_cast<std::uint64_t>(value);
}

// An enum value within 0…last, or the reader stops.
template <class Enum>
Enum ReadEnum(wire::Reader& reader, Enum last) {
  const std::uint64_t number = reader.Varint();
  if (number > Number(last)) {
    reader.Stop();
    return Enum{};
  }
  return static_cast<Enum>(number);
}

// The part of `block` that `part` views.
SharedBytes SliceOf(const SharedBytes& block, std::string_view part) {
  if (part.empty()) return {};
  return block.Slice(static_cast<std::size_t>(part.data() - block.data()), part.size());
}

std::unexpected<Error> Malformed(std::string_view what) {
  return Fail(Code::kDataLoss, "raft: malformed " + std::string(what));
}

// The readers below fill `out` from `bytes`, which lie within `block`; false if they are malformed.

bool ReadEntry(const SharedBytes& block, std::string_view bytes, Entry& out) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case field::entry::kType:
        out.type = ReadEnum(reader, EntryType::kConfChangeV2);
        break;
      case field::entry::kTerm:
        out.term = reader.Varint();
        break;
      case field::entry::kIndex:
        out.index = reader.Varint();
        break;
      case field::entry::kData:
        out.data = SliceOf(block, reader.Bytes());
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

bool ReadConfState(std::string_view bytes, ConfState& out) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case field::conf_state::kVoters:
        reader.RepeatedVarint([&](MemberId id) { out.voters.push_back(id); });
        break;
      case field::conf_state::kLearners:
        reader.RepeatedVarint([&](MemberId id) { out.learners.push_back(id); });
        break;
      case field::conf_state::kVotersOutgoing:
        reader.RepeatedVarint([&](MemberId id) { out.voters_outgoing.push_back(id); });
        break;
      case field::conf_state::kLearnersNext:
        reader.RepeatedVarint([&](MemberId id) { out.learners_next.push_back(id); });
        break;
      case field::conf_state::kAutoLeave:
        out.auto_leave = reader.Bool();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

bool ReadSnapshotMetadata(std::string_view bytes, SnapshotMetadata& out) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case field::snapshot_metadata::kConfState:
        if (!ReadConfState(reader.Bytes(), out.conf_state)) reader.Stop();
        break;
      case field::snapshot_metadata::kIndex:
        out.index = reader.Varint();
        break;
      case field::snapshot_metadata::kTerm:
        out.term = reader.Varint();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

bool ReadSnapshot(const SharedBytes& block, std::string_view bytes, Snapshot& out) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case field::snapshot::kData:
        out.data = SliceOf(block, reader.Bytes());
        break;
      case field::snapshot::kMetadata:
        if (!ReadSnapshotMetadata(reader.Bytes(), out.metadata)) reader.Stop();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

bool ReadConfChangeSingle(std::string_view bytes, ConfChangeSingle& out) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case field::conf_change_single::kType:
        out.type = ReadEnum(reader, ConfChangeType::kAddLearnerNode);
        break;
      case field::conf_change_single::kNodeId:
        out.node_id = reader.Varint();
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

// What stands in a log is written as members of etcd 3.7 do: the fields that they set are there
// even if they are zero (all of a HardState, a change's type and node_id, auto_leave, a snapshot's
// index and term), others are left out (an entry's type, kNormal; but see wal/batch.cc).
// tests/server/log_bytes_test.cc has their bytes.
constexpr std::size_t UintSize(std::uint32_t field, std::uint64_t value) {
  return wire::TagSize(field) + wire::VarintSize(value);
}

std::size_t IdListSize(std::uint32_t field, const std::vector<MemberId>& ids) {
  std::size_t size_bytes = 0;
  for (const MemberId id : ids) size_bytes += UintSize(field, id);
  return size_bytes;
}

void AppendIdList(std::string& out, std::uint32_t field, const std::vector<MemberId>& ids) {
  for (const MemberId id : ids) wire::AppendUintAlways(out, field, id);
}

std::size_t EncodedSize(const ConfChangeSingle& change) {
  return UintSize(field::conf_change_single::kType, Number(change.type)) +
         UintSize(field::conf_change_single::kNodeId, change.node_id);
}

// A message's fields before and behind its entries. Fields are written in the order of their
// numbers, as protobuf does.
void AppendFieldsBeforeEntries(std::string& out, const Message& message) {
  namespace f = field::message;
  wire::AppendUint(out, f::kType, Number(message.type));
  wire::AppendUint(out, f::kTo, message.to);
  wire::AppendUint(out, f::kFrom, message.from);
  wire::AppendUint(out, f::kTerm, message.term);
  wire::AppendUint(out, f::kLogTerm, message.log_term);
  wire::AppendUint(out, f::kIndex, message.index);
}

void AppendFieldsBehindSnapshot(std::string& out, const Message& message) {
  namespace f = field::message;
  wire::AppendBool(out, f::kReject, message.reject);
  wire::AppendUint(out, f::kRejectHint, message.reject_hint);
  wire::AppendBytes(out, f::kContext, message.context.view());
  wire::AppendUint(out, f::kVote, message.vote);
}

void AppendFieldsBehindEntries(std::string& out, const Message& message) {
  namespace f = field::message;
  wire::AppendUint(out, f::kCommit, message.commit);
  if (message.snapshot != nullptr) {
    wire::AppendLengthDelimitedHeader(out, f::kSnapshot, EncodedSize(*message.snapshot));
    AppendTo(out, *message.snapshot);
  }
  AppendFieldsBehindSnapshot(out, message);
}

}  // namespace

std::string_view Name(MessageType type) {
  switch (type) {
    case MessageType::kHup:
      return "Hup";
    case MessageType::kBeat:
      return "Beat";
    case MessageType::kProp:
      return "Prop";
    case MessageType::kApp:
      return "App";
    case MessageType::kAppResp:
      return "AppResp";
    case MessageType::kVote:
      return "Vote";
    case MessageType::kVoteResp:
      return "VoteResp";
    case MessageType::kSnap:
      return "Snap";
    case MessageType::kHeartbeat:
      return "Heartbeat";
    case MessageType::kHeartbeatResp:
      return "HeartbeatResp";
    case MessageType::kUnreachable:
      return "Unreachable";
    case MessageType::kSnapStatus:
      return "SnapStatus";
    case MessageType::kCheckQuorum:
      return "CheckQuorum";
    case MessageType::kTransferLeader:
      return "TransferLeader";
    case MessageType::kTimeoutNow:
      return "TimeoutNow";
    case MessageType::kReadIndex:
      return "ReadIndex";
    case MessageType::kReadIndexResp:
      return "ReadIndexResp";
    case MessageType::kPreVote:
      return "PreVote";
    case MessageType::kPreVoteResp:
      return "PreVoteResp";
    case MessageType::kStorageAppend:
      return "StorageAppend";
    case MessageType::kStorageAppendResp:
      return "StorageAppendResp";
    case MessageType::kStorageApply:
      return "StorageApply";
    case MessageType::kStorageApplyResp:
      return "StorageApplyResp";
    case MessageType::kForgetLeader:
      return "ForgetLeader";
  }
  return "unknown";
}

std::string_view Name(EntryType type) {
  switch (type) {
    case EntryType::kNormal:
      return "Normal";
    case EntryType::kConfChange:
      return "ConfChange";
    case EntryType::kConfChangeV2:
      return "ConfChangeV2";
  }
  return "unknown";
}

bool IsFromPeer(MessageType type) {
  switch (type) {
    case MessageType::kProp:
    case MessageType::kApp:
    case MessageType::kAppResp:
    case MessageType::kVote:
    case MessageType::kVoteResp:
    case MessageType::kSnap:
    case MessageType::kHeartbeat:
    case MessageType::kHeartbeatResp:
    case MessageType::kTransferLeader:
    case MessageType::kTimeoutNow:
    case MessageType::kReadIndex:
    case MessageType::kReadIndexResp:
    case MessageType::kPreVote:
    case MessageType::kPreVoteResp:
      return true;
    case MessageType::kHup:
    case MessageType::kBeat:
    case MessageType::kUnreachable:
    case MessageType::kSnapStatus:
    case MessageType::kCheckQuorum:
    case MessageType::kStorageAppend:
    case MessageType::kStorageAppendResp:
    case MessageType::kStorageApply:
    case MessageType::kStorageApplyResp:
    case MessageType::kForgetLeader:
      return false;
  }
  return false;
}

bool operator==(const Message& a, const Message& b) {
  const bool equal_snapshots =
      a.snapshot == b.snapshot ||
      (a.snapshot != nullptr && b.snapshot != nullptr && *a.snapshot == *b.snapshot);
  return equal_snapshots && a.type == b.type && a.reject == b.reject && a.to == b.to &&
         a.from == b.from && a.term == b.term && a.log_term == b.log_term && a.index == b.index &&
         a.commit == b.commit && a.reject_hint == b.reject_hint && a.vote == b.vote &&
         a.entries == b.entries && a.context == b.context;
}

ConfChangeV2 AsV2(const ConfChange& change) {
  return {.transition = ConfChangeTransition::kAuto,
          .changes = {{.type = change.type, .node_id = change.node_id}},
          .context = change.context};
}

std::size_t EncodedHeaderSize(const Entry& entry) {
  namespace f = field::entry;
  const std::size_t data_size_bytes = entry.data.size();
  return wire::UintFieldSize(f::kType, Number(entry.type)) +
         wire::UintFieldSize(f::kTerm, entry.term) + wire::UintFieldSize(f::kIndex, entry.index) +
         wire::BytesFieldSize(f::kData, data_size_bytes) - data_size_bytes;
}

std::size_t EncodedSize(const Entry& entry) { return EncodedHeaderSize(entry) + entry.data.size(); }

void AppendHeaderTo(std::string& out, const Entry& entry) {
  namespace f = field::entry;
  wire::AppendUint(out, f::kType, Number(entry.type));
  wire::AppendUint(out, f::kTerm, entry.term);
  wire::AppendUint(out, f::kIndex, entry.index);
  if (!entry.data.empty()) wire::AppendLengthDelimitedHeader(out, f::kData, entry.data.size());
}

void AppendTo(std::string& out, const Entry& entry) {
  AppendHeaderTo(out, entry);
  out.append(entry.data.view());
}

std::size_t EncodedSize(const HardState& state) {
  namespace f = field::hard_state;
  return UintSize(f::kTerm, state.term) + UintSize(f::kVote, state.vote) +
         UintSize(f::kCommit, state.commit);
}

void AppendTo(std::string& out, const HardState& state) {
  namespace f = field::hard_state;
  wire::AppendUintAlways(out, f::kTerm, state.term);
  wire::AppendUintAlways(out, f::kVote, state.vote);
  wire::AppendUintAlways(out, f::kCommit, state.commit);
}

std::size_t EncodedSize(const ConfState& state) {
  namespace f = field::conf_state;
  return IdListSize(f::kVoters, state.voters) + IdListSize(f::kLearners, state.learners) +
         IdListSize(f::kVotersOutgoing, state.voters_outgoing) +
         IdListSize(f::kLearnersNext, state.learners_next) +
         UintSize(f::kAutoLeave, state.auto_leave ? 1 : 0);
}

void AppendTo(std::string& out, const ConfState& state) {
  namespace f = field::conf_state;
  AppendIdList(out, f::kVoters, state.voters);
  AppendIdList(out, f::kLearners, state.learners);
  AppendIdList(out, f::kVotersOutgoing, state.voters_outgoing);
  AppendIdList(out, f::kLearnersNext, state.learners_next);
  wire::AppendUintAlways(out, f::kAutoLeave, state.auto_leave ? 1 : 0);
}

std::size_t EncodedSize(const SnapshotMetadata& metadata) {
  namespace f = field::snapshot_metadata;
  return wire::LengthDelimitedSize(f::kConfState, EncodedSize(metadata.conf_state)) +
         UintSize(f::kIndex, metadata.index) + UintSize(f::kTerm, metadata.term);
}

void AppendTo(std::string& out, const SnapshotMetadata& metadata) {
  namespace f = field::snapshot_metadata;
  wire::AppendLengthDelimitedHeader(out, f::kConfState, EncodedSize(metadata.conf_state));
  AppendTo(out, metadata.conf_state);
  wire::AppendUintAlways(out, f::kIndex, metadata.index);
  wire::AppendUintAlways(out, f::kTerm, metadata.term);
}

std::size_t EncodedSize(const Snapshot& snapshot) {
  namespace f = field::snapshot;
  return wire::BytesFieldSize(f::kData, snapshot.data.size()) +
         wire::LengthDelimitedSize(f::kMetadata, EncodedSize(snapshot.metadata));
}

void AppendTo(std::string& out, const Snapshot& snapshot) {
  namespace f = field::snapshot;
  wire::AppendBytes(out, f::kData, snapshot.data.view());
  wire::AppendLengthDelimitedHeader(out, f::kMetadata, EncodedSize(snapshot.metadata));
  AppendTo(out, snapshot.metadata);
}

std::size_t EncodedSize(const Message& message) {
  namespace f = field::message;
  std::size_t size_bytes = wire::UintFieldSize(f::kType, Number(message.type)) +
                           wire::UintFieldSize(f::kTo, message.to) +
                           wire::UintFieldSize(f::kFrom, message.from) +
                           wire::UintFieldSize(f::kTerm, message.term) +
                           wire::UintFieldSize(f::kLogTerm, message.log_term) +
                           wire::UintFieldSize(f::kIndex, message.index) +
                           wire::UintFieldSize(f::kCommit, message.commit) +
                           wire::UintFieldSize(f::kReject, message.reject ? 1 : 0) +
                           wire::UintFieldSize(f::kRejectHint, message.reject_hint) +
                           wire::BytesFieldSize(f::kContext, message.context.size()) +
                           wire::UintFieldSize(f::kVote, message.vote);
  for (const Entry& entry : message.entries)
    size_bytes += wire::LengthDelimitedSize(f::kEntries, EncodedSize(entry));
  if (message.snapshot != nullptr)
    size_bytes += wire::LengthDelimitedSize(f::kSnapshot, EncodedSize(*message.snapshot));
  return size_bytes;
}

void AppendTo(std::string& out, const Message& message) {
  AppendFieldsBeforeEntries(out, message);
  for (const Entry& entry : message.entries) {
    wire::AppendLengthDelimitedHeader(out, field::message::kEntries, EncodedSize(entry));
    AppendTo(out, entry);
  }
  AppendFieldsBehindEntries(out, message);
}

ByteChain EncodeChain(const Message& message) {
  namespace f = field::message;
  // Everything but the large data goes into one block; `cuts` are the places in it where a piece of
  // shared data belongs.
  struct Cut {
    std::size_t offset;
    const SharedBytes* data;
  };
  std::vector<Cut> cuts;
  std::string copied;
  AppendFieldsBeforeEntries(copied, message);
  for (const Entry& entry : message.entries) {
    wire::AppendLengthDelimitedHeader(copied, f::kEntries, EncodedSize(entry));
    AppendHeaderTo(copied, entry);
    if (entry.data.size() >= kShareFromBytes) {
      cuts.push_back({copied.size(), &entry.data});
    } else {
      copied.append(entry.data.view());
    }
  }
  if (message.snapshot != nullptr && message.snapshot->data.size() >= kShareFromBytes) {
    const Snapshot& snapshot = *message.snapshot;
    wire::AppendUint(copied, f::kCommit, message.commit);
    wire::AppendLengthDelimitedHeader(copied, f::kSnapshot, EncodedSize(snapshot));
    wire::AppendLengthDelimitedHeader(copied, field::snapshot::kData, snapshot.data.size());
    cuts.push_back({copied.size(), &snapshot.data});
    wire::AppendLengthDelimitedHeader(copied, field::snapshot::kMetadata,
                                      EncodedSize(snapshot.metadata));
    AppendTo(copied, snapshot.metadata);
    AppendFieldsBehindSnapshot(copied, message);
  } else {
    AppendFieldsBehindEntries(copied, message);
  }

  const SharedBytes block = SharedBytes::Own(std::move(copied));
  ByteChain chain;
  chain.reserve(2 * cuts.size() + 1);
  std::size_t offset = 0;
  for (const Cut& cut : cuts) {
    if (cut.offset > offset) chain.push_back(block.Slice(offset, cut.offset - offset));
    chain.push_back(*cut.data);
    offset = cut.offset;
  }
  if (offset < block.size()) chain.push_back(block.Slice(offset, block.size() - offset));
  return chain;
}

std::size_t EncodedSize(const ConfChange& change) {
  namespace f = field::conf_change;
  return wire::UintFieldSize(f::kId, change.id) + UintSize(f::kType, Number(change.type)) +
         UintSize(f::kNodeId, change.node_id) +
         wire::BytesFieldSize(f::kContext, change.context.size());
}

void AppendTo(std::string& out, const ConfChange& change) {
  namespace f = field::conf_change;
  wire::AppendUint(out, f::kId, change.id);
  wire::AppendUintAlways(out, f::kType, Number(change.type));
  wire::AppendUintAlways(out, f::kNodeId, change.node_id);
  wire::AppendBytes(out, f::kContext, change.context.view());
}

std::size_t EncodedSize(const ConfChangeV2& change) {
  namespace f = field::conf_change_v2;
  std::size_t size_bytes = wire::UintFieldSize(f::kTransition, Number(change.transition)) +
                           wire::BytesFieldSize(f::kContext, change.context.size());
  for (const ConfChangeSingle& single : change.changes)
    size_bytes += wire::LengthDelimitedSize(f::kChanges, EncodedSize(single));
  return size_bytes;
}

void AppendTo(std::string& out, const ConfChangeV2& change) {
  namespace f = field::conf_change_v2;
  wire::AppendUint(out, f::kTransition, Number(change.transition));
  for (const ConfChangeSingle& single : change.changes) {
    wire::AppendLengthDelimitedHeader(out, f::kChanges, EncodedSize(single));
    wire::AppendUintAlways(out, field::conf_change_single::kType, Number(single.type));
    wire::AppendUintAlways(out, field::conf_change_single::kNodeId, single.node_id);
  }
  wire::AppendBytes(out, f::kContext, change.context.view());
}

Result<Entry> DecodeEntry(const SharedBytes& bytes) {
  Entry entry;
  if (!ReadEntry(bytes, bytes.view(), entry)) return Malformed("entry");
  return entry;
}

Result<HardState> DecodeHardState(std::string_view bytes) {
  HardState state;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case field::hard_state::kTerm:
        state.term = reader.Varint();
        break;
      case field::hard_state::kVote:
        state.vote = reader.Varint();
        break;
      case field::hard_state::kCommit:
        state.commit = reader.Varint();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Malformed("hard state");
  return state;
}

Result<ConfState> DecodeConfState(std::string_view bytes) {
  ConfState state;
  if (!ReadConfState(bytes, state)) return Malformed("conf state");
  return state;
}

Result<SnapshotMetadata> DecodeSnapshotMetadata(std::string_view bytes) {
  SnapshotMetadata metadata;
  if (!ReadSnapshotMetadata(bytes, metadata)) return Malformed("snapshot metadata");
  return metadata;
}

Result<Snapshot> DecodeSnapshot(const SharedBytes& bytes) {
  Snapshot snapshot;
  if (!ReadSnapshot(bytes, bytes.view(), snapshot)) return Malformed("snapshot");
  return snapshot;
}

Result<Message> DecodeMessage(const SharedBytes& bytes) {
  namespace f = field::message;
  Message message;
  wire::Reader reader(bytes.view());
  while (reader.Next()) {
    switch (reader.field()) {
      case f::kType:
        message.type = ReadEnum(reader, MessageType::kForgetLeader);
        break;
      case f::kTo:
        message.to = reader.Varint();
        break;
      case f::kFrom:
        message.from = reader.Varint();
        break;
      case f::kTerm:
        message.term = reader.Varint();
        break;
      case f::kLogTerm:
        message.log_term = reader.Varint();
        break;
      case f::kIndex:
        message.index = reader.Varint();
        break;
      case f::kEntries:
        if (message.entries.size() == kMaxMessageEntries) {
          reader.Stop();
          break;
        }
        if (!ReadEntry(bytes, reader.Bytes(), message.entries.emplace_back())) reader.Stop();
        break;
      case f::kCommit:
        message.commit = reader.Varint();
        break;
      case f::kSnapshot: {
        auto snapshot = std::make_shared<Snapshot>();
        if (!ReadSnapshot(bytes, reader.Bytes(), *snapshot)) reader.Stop();
        message.snapshot = std::move(snapshot);
        break;
      }
      case f::kReject:
        message.reject = reader.Bool();
        break;
      case f::kRejectHint:
        message.reject_hint = reader.Varint();
        break;
      case f::kContext:
        message.context = SliceOf(bytes, reader.Bytes());
        break;
      case f::kVote:
        message.vote = reader.Varint();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Malformed("message");
  // Old members send an empty snapshot along with every message.
  if (message.snapshot != nullptr && message.type != MessageType::kSnap) message.snapshot.reset();
  return message;
}

Result<ConfChange> DecodeConfChange(const SharedBytes& bytes) {
  namespace f = field::conf_change;
  ConfChange change;
  wire::Reader reader(bytes.view());
  while (reader.Next()) {
    switch (reader.field()) {
      case f::kId:
        change.id = reader.Varint();
        break;
      case f::kType:
        change.type = ReadEnum(reader, ConfChangeType::kAddLearnerNode);
        break;
      case f::kNodeId:
        change.node_id = reader.Varint();
        break;
      case f::kContext:
        change.context = SliceOf(bytes, reader.Bytes());
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Malformed("configuration change");
  return change;
}

Result<ConfChangeV2> DecodeConfChangeV2(const SharedBytes& bytes) {
  namespace f = field::conf_change_v2;
  ConfChangeV2 change;
  wire::Reader reader(bytes.view());
  while (reader.Next()) {
    switch (reader.field()) {
      case f::kTransition:
        change.transition = ReadEnum(reader, ConfChangeTransition::kJointExplicit);
        break;
      case f::kChanges:
        if (!ReadConfChangeSingle(reader.Bytes(), change.changes.emplace_back())) reader.Stop();
        break;
      case f::kContext:
        change.context = SliceOf(bytes, reader.Bytes());
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Malformed("configuration change");
  return change;
}

}  // namespace kvorum::raft
