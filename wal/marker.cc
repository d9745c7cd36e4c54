#include "wal/marker.h"

#include "proto/fields.h"
#include "proto/raft_tables.h"
#include "wal/format.h"

namespace kvorum::wal {
namespace {

using wire::Always;
using wire::Field;

constexpr auto kMetadata = wire::Describe<Metadata, Always<Field<1, &Metadata::node_id>>,
                                          Always<Field<2, &Metadata::cluster_id>>>(
    "etcdserverpb.Metadata", wire::OtherTypes::kAreMalformed);
constexpr auto kMarker =
    wire::Describe<SnapshotMarker, Always<Field<1, &SnapshotMarker::index>>,
                   Always<Field<2, &SnapshotMarker::term>>,
                   wire::Nested<3, &SnapshotMarker::conf_state, raft::kConfStateTable>>(
        "walpb.Snapshot", wire::OtherTypes::kAreMalformed);
constexpr const wire::Table* kTables[] = {&kMetadata, &kMarker, &kRecordTable};

}  // namespace

std::span<const wire::Table* const> MessageTables() { return kTables; }

std::string Encode(const Metadata& metadata) { return wire::Encode(kMetadata, metadata); }
std::string Encode(const SnapshotMarker& marker) { return wire::Encode(kMarker, marker); }

Result<Metadata> DecodeMetadata(std::string_view bytes) {
  Metadata metadata;
  if (wire::Decode(kMetadata, bytes, metadata) != wire::Decoded::kOk)
    return Fail(Code::kDataLoss, "malformed metadata");
  return metadata;
}

Result<SnapshotMarker> DecodeSnapshotMarker(std::string_view bytes) {
  SnapshotMarker marker;
  if (wire::Decode(kMarker, bytes, marker) != wire::Decoded::kOk)
    return Fail(Code::kDataLoss, "malformed snapshot marker");
  return marker;
}

}  // namespace kvorum::wal
