// The contents of a WAL besides entries and hard states: the log's owner, and the positions at
// which a reader may begin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::wire {
struct Table;
}

namespace kvorum::wal {

// The head of every segment, the same throughout a log.
struct Metadata {
  raft::MemberId node_id = raft::kNone;
  std::uint64_t cluster_id = 0;

  friend bool operator==(const Metadata&, const Metadata&) = default;
};

// "The state up to this entry is kept elsewhere": entries at or below the index need not be read. A
// new log begins with the marker {0, 0}.
struct SnapshotMarker {
  raft::Index index = 0;
  raft::Term term = 0;
  std::optional<raft::ConfState> conf_state;  // set unless index is 0

  friend bool operator==(const SnapshotMarker&, const SnapshotMarker&) = default;
};

// The bytes of walpb.Snapshot and of the member's metadata. Zeros are written, as other writers of
// the format do.
std::string Encode(const Metadata& metadata);
std::string Encode(const SnapshotMarker& marker);
Result<Metadata> DecodeMetadata(std::string_view bytes);
Result<SnapshotMarker> DecodeSnapshotMarker(std::string_view bytes);

// The tables of all messages of this library, for the test that compares them with the .proto
// files.
std::span<const wire::Table* const> MessageTables();

}  // namespace kvorum::wal
