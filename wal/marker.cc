#include "wal/marker.h"

#include "proto/wire.h"

namespace kvorum::wal {
namespace {

constexpr std::uint32_t kNodeIdField = 1;
constexpr std::uint32_t kClusterIdField = 2;

constexpr std::uint32_t kIndexField = 1;
constexpr std::uint32_t kTermField = 2;
constexpr std::uint32_t kConfStateField = 3;

}  // namespace

std::string Encode(const Metadata& metadata) {
  std::string out;
  wire::AppendUintAlways(out, kNodeIdField, metadata.node_id);
  wire::AppendUintAlways(out, kClusterIdField, metadata.cluster_id);
  return out;
}

std::string Encode(const SnapshotMarker& marker) {
  std::string out;
  wire::AppendUintAlways(out, kIndexField, marker.index);
  wire::AppendUintAlways(out, kTermField, marker.term);
  if (marker.conf_state.has_value()) {
    wire::AppendBytesAlways(out, kConfStateField, raft::Encode(*marker.conf_state));
  }
  return out;
}

Result<Metadata> DecodeMetadata(std::string_view bytes) {
  Metadata metadata;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case kNodeIdField:
        metadata.node_id = reader.Varint();
        break;
      case kClusterIdField:
        metadata.cluster_id = reader.Varint();
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Fail(Code::kDataLoss, "malformed metadata");
  return metadata;
}

Result<SnapshotMarker> DecodeSnapshotMarker(std::string_view bytes) {
  SnapshotMarker marker;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case kIndexField:
        marker.index = reader.Varint();
        break;
      case kTermField:
        marker.term = reader.Varint();
        break;
      case kConfStateField: {
        KV_TRY(marker.conf_state, raft::DecodeConfState(reader.Bytes()));
        break;
      }
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return Fail(Code::kDataLoss, "malformed snapshot marker");
  return marker;
}

}  // namespace kvorum::wal
