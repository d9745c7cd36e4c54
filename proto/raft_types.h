// Raft's messages, log entries and hard states, and their bytes: wire-compatible with the protobuf
// package raftpb, encoded by hand so that an entry's data is never copied.
//
// Threading: plain values. Ownership: a decoded Entry, Snapshot or Message holds slices of the
// bytes it was decoded from, and so keeps that whole block alive. Errors: decoders return an Error
// of code kDataLoss and never crash on any bytes; unknown fields are skipped, and zero
// fields may be written or left out (versions differ).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "base/strong_number.h"

namespace kvorum::wire {
struct Table;
}

namespace kvorum::raft {

using Term = StrongNumber<struct TermTag>;
using Index = StrongNumber<struct IndexTag>;        // the first entry ever has 1
using MemberId = StrongNumber<struct MemberIdTag>;  // 0, kNone, is not a member

inline constexpr MemberId kNone = 0;
// A message with more entries is refused as malformed: an empty entry takes two bytes on the wire
// and many more in memory.
inline constexpr std::size_t kMaxMessageEntries = std::size_t{1} << 20;

enum class EntryType : std::uint8_t {
  kNormal = 0,
  kConfChange = 1,    // data is a ConfChange
  kConfChangeV2 = 2,  // data is a ConfChangeV2
};

struct Entry {
  Term term = 0;
  Index index = 0;
  EntryType type = EntryType::kNormal;
  SharedBytes data{};  // the agreed data; empty in a new leader's first entry

  friend bool operator==(const Entry&, const Entry&) = default;
};

// The state that must be on disk before a message that depends on it leaves (Raft paper, figure 2),
// and the commit index, which need not be.
struct HardState {
  Term term = 0;
  MemberId vote = kNone;
  Index commit = 0;

  bool empty() const { return *this == HardState{}; }
  friend bool operator==(const HardState&, const HardState&) = default;
};

// The members of a configuration, each list in ascending order. voters_outgoing is not empty only
// in a joint configuration (Raft thesis, section 4.3).
struct ConfState {
  std::vector<MemberId> voters{};
  std::vector<MemberId> learners{};
  std::vector<MemberId> voters_outgoing{};
  std::vector<MemberId>
      learners_next{};  // voters that become learners when the joint state is left
  bool auto_leave = false;

  friend bool operator==(const ConfState&, const ConfState&) = default;
};

struct SnapshotMetadata {
  ConfState conf_state{};
  Index index = 0;  // of the last entry that the snapshot contains
  Term term = 0;    // of that entry

  friend bool operator==(const SnapshotMetadata&, const SnapshotMetadata&) = default;
};

struct Snapshot {
  SharedBytes data{};
  SnapshotMetadata metadata{};

  bool empty() const { return metadata.index == 0; }
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

enum class MessageType : std::uint8_t {
  kHup = 0,
  kBeat = 1,
  kProp = 2,
  kApp = 3,
  kAppResp = 4,
  kVote = 5,
  kVoteResp = 6,
  kSnap = 7,
  kHeartbeat = 8,
  kHeartbeatResp = 9,
  kUnreachable = 10,
  kSnapStatus = 11,
  kCheckQuorum = 12,
  kTransferLeader = 13,
  kTimeoutNow = 14,
  kReadIndex = 15,
  kReadIndexResp = 16,
  kPreVote = 17,
  kPreVoteResp = 18,
  kStorageAppend = 19,
  kStorageAppendResp = 20,
  kStorageApply = 21,
  kStorageApplyResp = 22,
  kForgetLeader = 23,
};

std::string_view Name(MessageType type);  // as in "App", "VoteResp"
std::string_view Name(EntryType type);    // as in "Normal", "ConfChange"
// True if a message of this type may arrive from a peer at all: the others are about the member's
// own clock and disk, and a peer that sends one is broken.
bool IsFromPeer(MessageType type);

struct Message {
  MessageType type = MessageType::kHup;
  bool reject = false;
  MemberId to = kNone;
  MemberId from = kNone;
  Term term = 0;
  Term log_term = 0;
  Index index = 0;
  Index commit = 0;
  Index reject_hint = 0;
  MemberId vote = kNone;
  std::vector<Entry> entries{};
  std::shared_ptr<const Snapshot> snapshot{};  // in kSnap only; immutable, shared by its senders
  SharedBytes context{};

  friend bool operator==(const Message& a, const Message& b);
};

enum class ConfChangeType : std::uint8_t {
  kAddNode = 0,
  kRemoveNode = 1,
  kUpdateNode = 2,
  kAddLearnerNode = 3,
};

// One change, as the v3 API proposes it.
struct ConfChange {
  std::uint64_t id = 0;
  ConfChangeType type = ConfChangeType::kAddNode;
  MemberId node_id = kNone;
  SharedBytes context{};  // the member as JSON

  friend bool operator==(const ConfChange&, const ConfChange&) = default;
};

enum class ConfChangeTransition : std::uint8_t {
  kAuto = 0,           // by joint consensus if more than one voter changes
  kJointImplicit = 1,  // by joint consensus, left by itself
  kJointExplicit = 2,  // by joint consensus, left by a ConfChangeV2 without changes
};

struct ConfChangeSingle {
  ConfChangeType type = ConfChangeType::kAddNode;
  MemberId node_id = kNone;

  friend bool operator==(const ConfChangeSingle&, const ConfChangeSingle&) = default;
};

struct ConfChangeV2 {
  ConfChangeTransition transition = ConfChangeTransition::kAuto;
  std::vector<ConfChangeSingle> changes{};
  SharedBytes context{};

  friend bool operator==(const ConfChangeV2&, const ConfChangeV2&) = default;
};

ConfChangeV2 AsV2(const ConfChange& change);

// --- bytes -------------------------------------------------------------------------------------
// EncodedSize is exact. AppendTo appends that many bytes.

std::size_t EncodedSize(const Entry& entry);
void AppendTo(std::string& out, const Entry& entry);
// The bytes of an entry up to its data: AppendHeaderTo and then entry.data are the whole encoding,
// so that a WAL record or a frame takes the data by reference. EncodedHeaderSize + data.size() is
// EncodedSize.
std::size_t EncodedHeaderSize(const Entry& entry);
void AppendHeaderTo(std::string& out, const Entry& entry);

std::size_t EncodedSize(const HardState& state);
void AppendTo(std::string& out, const HardState& state);
std::size_t EncodedSize(const ConfState& state);
void AppendTo(std::string& out, const ConfState& state);
std::size_t EncodedSize(const SnapshotMetadata& metadata);
void AppendTo(std::string& out, const SnapshotMetadata& metadata);
std::size_t EncodedSize(const Snapshot& snapshot);
void AppendTo(std::string& out, const Snapshot& snapshot);
std::size_t EncodedSize(const Message& message);
void AppendTo(std::string& out, const Message& message);
std::size_t EncodedSize(const ConfChange& change);
void AppendTo(std::string& out, const ConfChange& change);
std::size_t EncodedSize(const ConfChangeV2& change);
void AppendTo(std::string& out, const ConfChangeV2& change);

// The encoding as one string.
template <class T>
std::string Encode(const T& value) {
  std::string out;
  out.reserve(EncodedSize(value));
  AppendTo(out, value);
  return out;
}

// The encoding as a chain that shares the entries' and the snapshot's data where they are large;
// Join(EncodeChain(m)) == Encode(m).
ByteChain EncodeChain(const Message& message);

Result<Entry> DecodeEntry(const SharedBytes& bytes);
Result<HardState> DecodeHardState(std::string_view bytes);
Result<Snapshot> DecodeSnapshot(const SharedBytes& bytes);
Result<Message> DecodeMessage(const SharedBytes& bytes);
Result<ConfChange> DecodeConfChange(const SharedBytes& bytes);
Result<ConfChangeV2> DecodeConfChangeV2(const SharedBytes& bytes);

// The tables of all messages that are read and written by table, for the test that compares them
// with the .proto files.
std::span<const wire::Table* const> MessageTables();

}  // namespace kvorum::raft
