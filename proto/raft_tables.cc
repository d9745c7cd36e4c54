#include "proto/raft_tables.h"

namespace kvorum::raft {

// Messages in a log are written as members of etcd 3.7 do: fields that they set are written even if
// they are zero (Always: all of a HardState, a change's type and node_id, auto_leave, a snapshot's
// index and term), others are left out (an entry's type, kNormal; but see wal/batch.cc).
// tests/server/replica/drive/log_bytes_test.cc has their bytes.

using wire::Always;
using wire::ClosedEnum;
using wire::Field;
using wire::Nested;

constexpr wire::Message<ConfState> kConfStateTable =
    wire::Describe<ConfState, Field<1, &ConfState::voters>, Field<2, &ConfState::learners>,
                   Field<3, &ConfState::voters_outgoing>, Field<4, &ConfState::learners_next>,
                   Always<Field<5, &ConfState::auto_leave>>>("raftpb.ConfState",
                                                             wire::OtherTypes::kAreMalformed);

namespace {

constexpr auto kHardStateTable =
    wire::Describe<HardState, Always<Field<1, &HardState::term>>,
                   Always<Field<2, &HardState::vote>>, Always<Field<3, &HardState::commit>>>(
        "raftpb.HardState", wire::OtherTypes::kAreMalformed);
constexpr auto kMetadataTable =
    wire::Describe<SnapshotMetadata, Nested<1, &SnapshotMetadata::conf_state, kConfStateTable>,
                   Always<Field<2, &SnapshotMetadata::index>>,
                   Always<Field<3, &SnapshotMetadata::term>>>("raftpb.SnapshotMetadata",
                                                              wire::OtherTypes::kAreMalformed);
constexpr auto kConfChangeTable =
    wire::Describe<ConfChange, Field<1, &ConfChange::id>,
                   Always<ClosedEnum<2, &ConfChange::type, ConfChangeType::kAddLearnerNode>>,
                   Always<Field<3, &ConfChange::node_id>>, Field<4, &ConfChange::context>>(
        "raftpb.ConfChange", wire::OtherTypes::kAreMalformed);
constexpr auto kSingleTable =
    wire::Describe<ConfChangeSingle,
                   Always<ClosedEnum<1, &ConfChangeSingle::type, ConfChangeType::kAddLearnerNode>>,
                   Always<Field<2, &ConfChangeSingle::node_id>>>("raftpb.ConfChangeSingle",
                                                                 wire::OtherTypes::kAreMalformed);
constexpr auto kConfChangeV2Table = wire::Describe<
    ConfChangeV2, ClosedEnum<1, &ConfChangeV2::transition, ConfChangeTransition::kJointExplicit>,
    Nested<2, &ConfChangeV2::changes, kSingleTable>, Field<3, &ConfChangeV2::context>>(
    "raftpb.ConfChangeV2", wire::OtherTypes::kAreMalformed);

template <class T>
Result<T> Decode(const wire::Message<T>& table, std::string_view bytes, std::string_view what,
                 const SharedBytes* block = nullptr) {
  T message;
  if (wire::DecodeInto(&message, table, bytes, block) != wire::Decoded::kOk)
    return Fail(Code::kDataLoss, "raft: malformed " + std::string(what));
  return message;
}

}  // namespace

constexpr wire::Message<Snapshot> kSnapshotTable =
    wire::Describe<Snapshot, Field<kSnapshotDataField, &Snapshot::data>,
                   Nested<kSnapshotMetadataField, &Snapshot::metadata, kMetadataTable>>(
        "raftpb.Snapshot", wire::OtherTypes::kAreMalformed);
constexpr wire::Message<SnapshotFile> kSnapshotFileTable =
    wire::Describe<SnapshotFile, Field<1, &SnapshotFile::crc32c>, Field<2, &SnapshotFile::data>>(
        "snappb.snapshot", wire::OtherTypes::kAreMalformed);

namespace {
constexpr const wire::Table* kTables[] = {
    &kConfStateTable,    &kHardStateTable, &kMetadataTable,     &kConfChangeTable, &kSingleTable,
    &kConfChangeV2Table, &kSnapshotTable,  &kSnapshotFileTable, &kEntryTable,      &kMessageTable};
}  // namespace

std::span<const wire::Table* const> MessageTables() { return kTables; }

std::size_t EncodedSize(const HardState& state) {
  return wire::EncodedSize(kHardStateTable, &state);
}
void AppendTo(std::string& out, const HardState& state) {
  wire::AppendTo(out, kHardStateTable, &state);
}
std::size_t EncodedSize(const ConfState& state) {
  return wire::EncodedSize(kConfStateTable, &state);
}
void AppendTo(std::string& out, const ConfState& state) {
  wire::AppendTo(out, kConfStateTable, &state);
}
std::size_t EncodedSize(const SnapshotMetadata& metadata) {
  return wire::EncodedSize(kMetadataTable, &metadata);
}
void AppendTo(std::string& out, const SnapshotMetadata& metadata) {
  wire::AppendTo(out, kMetadataTable, &metadata);
}
std::size_t EncodedSize(const Snapshot& snapshot) {
  return wire::EncodedSize(kSnapshotTable, &snapshot);
}
void AppendTo(std::string& out, const Snapshot& snapshot) {
  wire::AppendTo(out, kSnapshotTable, &snapshot);
}
std::size_t EncodedSize(const ConfChange& change) {
  return wire::EncodedSize(kConfChangeTable, &change);
}
void AppendTo(std::string& out, const ConfChange& change) {
  wire::AppendTo(out, kConfChangeTable, &change);
}
std::size_t EncodedSize(const ConfChangeV2& change) {
  return wire::EncodedSize(kConfChangeV2Table, &change);
}
void AppendTo(std::string& out, const ConfChangeV2& change) {
  wire::AppendTo(out, kConfChangeV2Table, &change);
}

Result<HardState> DecodeHardState(std::string_view bytes) {
  return Decode(kHardStateTable, bytes, "hard state");
}
Result<Snapshot> DecodeSnapshot(const SharedBytes& bytes) {
  return Decode(kSnapshotTable, bytes.view(), "snapshot", &bytes);
}
Result<ConfChange> DecodeConfChange(const SharedBytes& bytes) {
  return Decode(kConfChangeTable, bytes.view(), "configuration change", &bytes);
}
Result<ConfChangeV2> DecodeConfChangeV2(const SharedBytes& bytes) {
  return Decode(kConfChangeV2Table, bytes.view(), "configuration change", &bytes);
}

}  // namespace kvorum::raft
