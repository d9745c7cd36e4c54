#include "proto/raft_types.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "proto/raft_tables.h"
#include "proto/wire.h"

namespace kvorum::raft {

namespace {

constexpr std::string_view kEntryTypes[] = {"EntryNormal", "EntryConfChange", "EntryConfChangeV2"};
constexpr std::string_view kMessageTypes[] = {"MsgHup",
                                              "MsgBeat",
                                              "MsgProp",
                                              "MsgApp",
                                              "MsgAppResp",
                                              "MsgVote",
                                              "MsgVoteResp",
                                              "MsgSnap",
                                              "MsgHeartbeat",
                                              "MsgHeartbeatResp",
                                              "MsgUnreachable",
                                              "MsgSnapStatus",
                                              "MsgCheckQuorum",
                                              "MsgTransferLeader",
                                              "MsgTimeoutNow",
                                              "MsgReadIndex",
                                              "MsgReadIndexResp",
                                              "MsgPreVote",
                                              "MsgPreVoteResp",
                                              "MsgStorageAppend",
                                              "MsgStorageAppendResp",
                                              "MsgStorageApply",
                                              "MsgStorageApplyResp",
                                              "MsgForgetLeader"};

using wire::Bare;
using wire::BareEnum;
using wire::FieldType;
using wire::Many;
using wire::NumberOf;
using wire::Part;

constexpr wire::Row kEntryRows[] = {
    BareEnum(1, "Type", kEntryTypes), Bare(2, "Term", FieldType::kUint64),
    Bare(3, "Index", FieldType::kUint64), Bare(4, "Data", FieldType::kBytes)};

}  // namespace

constexpr wire::Table kEntryTable = wire::ByHand("raftpb.Entry", kEntryRows);

namespace {

// 14, responses, exists within a member only and is skipped.
constexpr wire::Row kMessageRows[] = {
    BareEnum(1, "type", kMessageTypes),         Bare(2, "to", FieldType::kUint64),
    Bare(3, "from", FieldType::kUint64),        Bare(4, "term", FieldType::kUint64),
    Bare(5, "logTerm", FieldType::kUint64),     Bare(6, "index", FieldType::kUint64),
    Many(Part(7, "entries", kEntryTable)),      Bare(8, "commit", FieldType::kUint64),
    Part(9, "snapshot", kSnapshotTable),        Bare(10, "reject", FieldType::kBool),
    Bare(11, "rejectHint", FieldType::kUint64), Bare(12, "context", FieldType::kBytes),
    Bare(13, "vote", FieldType::kUint64)};

}  // namespace

constexpr wire::Table kMessageTable = wire::ByHand("raftpb.Message", kMessageRows);

namespace {

namespace field {
namespace entry {
constexpr std::uint32_t kType = NumberOf(kEntryRows, "Type"), kTerm = NumberOf(kEntryRows, "Term"),
                        kIndex = NumberOf(kEntryRows, "Index"),
                        kData = NumberOf(kEntryRows, "Data");
}
namespace message {
constexpr std::uint32_t kType = NumberOf(kMessageRows, "type"), kTo = NumberOf(kMessageRows, "to"),
                        kFrom = NumberOf(kMessageRows, "from"),
                        kTerm = NumberOf(kMessageRows, "term"),
                        kLogTerm = NumberOf(kMessageRows, "logTerm"),
                        kIndex = NumberOf(kMessageRows, "index"),
                        kEntries = NumberOf(kMessageRows, "entries"),
                        kCommit = NumberOf(kMessageRows, "commit"),
                        kSnapshot = NumberOf(kMessageRows, "snapshot"),
                        kReject = NumberOf(kMessageRows, "reject"),
                        kRejectHint = NumberOf(kMessageRows, "rejectHint"),
                        kContext = NumberOf(kMessageRows, "context"),
                        kVote = NumberOf(kMessageRows, "vote");
}
}  // namespace field

// Names of types have these in front, which Name leaves out.
constexpr std::string_view kMessagePrefix = "Msg";
constexpr std::string_view kEntryPrefix = "Entry";

// From this size on, EncodeChain shares an entry's data instead of copying it: below, a slice and
// its reference count cost more than the copy.
constexpr std::size_t kShareFromBytes = 1024;

template <class Enum>
constexpr std::uint64_t Number(Enum value) {
  return static_cast<std::uint64_t>(value);
}

// Reads an enum value within 0…last, or stops the reader.
template <class Enum>
Enum ReadEnum(wire::Reader& reader, Enum last) {
  const std::uint64_t number = reader.Varint();
  if (number > Number(last)) {
    reader.Stop();
    return Enum{};
  }
  return static_cast<Enum>(number);
}

std::unexpected<Error> Malformed(std::string_view what) {
  return Fail(Code::kDataLoss, "raft: malformed " + std::string(what));
}

// Fills `out` from `bytes`, which lie within `block`; false if they are malformed.
bool ReadEntry(const SharedBytes& block, std::string_view bytes, Entry& out) {
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case field::entry::kType:
        out.type = ReadEnum(reader, EntryType::kConfChangeV2);
        break;
      case field::entry::kTerm:
        out.term = Term{reader.Varint()};
        break;
      case field::entry::kIndex:
        out.index = Index{reader.Varint()};
        break;
      case field::entry::kData:
        out.data = wire::SliceOf(block, reader.Bytes());
        break;
      default:
        reader.Skip();
    }
  }
  return reader.ok();
}

// The fields of a message before and after its entries. Fields are written in the order of their
// numbers, as protobuf does.
void AppendFieldsBeforeEntries(std::string& out, const Message& message) {
  namespace f = field::message;
  wire::AppendUint(out, f::kType, Number(message.type));
  wire::AppendUint(out, f::kTo, message.to.value());
  wire::AppendUint(out, f::kFrom, message.from.value());
  wire::AppendUint(out, f::kTerm, message.term.value());
  wire::AppendUint(out, f::kLogTerm, message.log_term.value());
  wire::AppendUint(out, f::kIndex, message.index.value());
}

void AppendFieldsBehindSnapshot(std::string& out, const Message& message) {
  namespace f = field::message;
  wire::AppendBool(out, f::kReject, message.reject);
  wire::AppendUint(out, f::kRejectHint, message.reject_hint.value());
  wire::AppendBytes(out, f::kContext, message.context.view());
  wire::AppendUint(out, f::kVote, message.vote.value());
}

void AppendFieldsBehindEntries(std::string& out, const Message& message) {
  namespace f = field::message;
  wire::AppendUint(out, f::kCommit, message.commit.value());
  if (message.snapshot != nullptr) {
    wire::AppendLengthDelimitedHeader(out, f::kSnapshot, EncodedSize(*message.snapshot));
    AppendTo(out, *message.snapshot);
  }
  AppendFieldsBehindSnapshot(out, message);
}

}  // namespace

std::string_view Name(MessageType type) {
  const auto number = static_cast<std::size_t>(type);
  return number < std::size(kMessageTypes) ? kMessageTypes[number].substr(kMessagePrefix.size())
                                           : "unknown";
}

std::string_view Name(EntryType type) {
  const auto number = static_cast<std::size_t>(type);
  return number < std::size(kEntryTypes) ? kEntryTypes[number].substr(kEntryPrefix.size())
                                         : "unknown";
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
         wire::UintFieldSize(f::kTerm, entry.term.value()) +
         wire::UintFieldSize(f::kIndex, entry.index.value()) +
         wire::BytesFieldSize(f::kData, data_size_bytes) - data_size_bytes;
}

std::size_t EncodedSize(const Entry& entry) { return EncodedHeaderSize(entry) + entry.data.size(); }

void AppendHeaderTo(std::string& out, const Entry& entry) {
  namespace f = field::entry;
  wire::AppendUint(out, f::kType, Number(entry.type));
  wire::AppendUint(out, f::kTerm, entry.term.value());
  wire::AppendUint(out, f::kIndex, entry.index.value());
  if (!entry.data.empty()) wire::AppendLengthDelimitedHeader(out, f::kData, entry.data.size());
}

void AppendTo(std::string& out, const Entry& entry) {
  AppendHeaderTo(out, entry);
  out.append(entry.data.view());
}

std::size_t EncodedSize(const Message& message) {
  namespace f = field::message;
  std::size_t size_bytes = wire::UintFieldSize(f::kType, Number(message.type)) +
                           wire::UintFieldSize(f::kTo, message.to.value()) +
                           wire::UintFieldSize(f::kFrom, message.from.value()) +
                           wire::UintFieldSize(f::kTerm, message.term.value()) +
                           wire::UintFieldSize(f::kLogTerm, message.log_term.value()) +
                           wire::UintFieldSize(f::kIndex, message.index.value()) +
                           wire::UintFieldSize(f::kCommit, message.commit.value()) +
                           wire::UintFieldSize(f::kReject, message.reject ? 1 : 0) +
                           wire::UintFieldSize(f::kRejectHint, message.reject_hint.value()) +
                           wire::BytesFieldSize(f::kContext, message.context.size()) +
                           wire::UintFieldSize(f::kVote, message.vote.value());
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
  // Everything but the large data goes into one block; `cuts` are the positions in it where shared
  // data belongs.
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
    wire::AppendUint(copied, f::kCommit, message.commit.value());
    wire::AppendLengthDelimitedHeader(copied, f::kSnapshot, EncodedSize(snapshot));
    wire::AppendLengthDelimitedHeader(copied, kSnapshotDataField, snapshot.data.size());
    cuts.push_back({copied.size(), &snapshot.data});
    wire::AppendLengthDelimitedHeader(copied, kSnapshotMetadataField,
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

Result<Entry> DecodeEntry(const SharedBytes& bytes) {
  Entry entry;
  if (!ReadEntry(bytes, bytes.view(), entry)) return Malformed("entry");
  return entry;
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
        message.to = MemberId{reader.Varint()};
        break;
      case f::kFrom:
        message.from = MemberId{reader.Varint()};
        break;
      case f::kTerm:
        message.term = Term{reader.Varint()};
        break;
      case f::kLogTerm:
        message.log_term = Term{reader.Varint()};
        break;
      case f::kIndex:
        message.index = Index{reader.Varint()};
        break;
      case f::kEntries:
        if (message.entries.size() == kMaxMessageEntries) {
          reader.Stop();
          break;
        }
        if (!ReadEntry(bytes, reader.Bytes(), message.entries.emplace_back())) reader.Stop();
        break;
      case f::kCommit:
        message.commit = Index{reader.Varint()};
        break;
      case f::kSnapshot: {
        auto snapshot = std::make_shared<Snapshot>();
        if (wire::DecodeInto(snapshot.get(), kSnapshotTable, reader.Bytes(), &bytes) !=
            wire::Decoded::kOk)
          reader.Stop();
        message.snapshot = std::move(snapshot);
        break;
      }
      case f::kReject:
        message.reject = reader.Bool();
        break;
      case f::kRejectHint:
        message.reject_hint = Index{reader.Varint()};
        break;
      case f::kContext:
        message.context = wire::SliceOf(bytes, reader.Bytes());
        break;
      case f::kVote:
        message.vote = MemberId{reader.Varint()};
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

}  // namespace kvorum::raft
