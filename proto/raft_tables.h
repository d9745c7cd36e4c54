// The tables of raftpb's messages that others hold as a part, and of the file around a snapshot.
// Entry and Message are written by hand (raft_types.cc), and so is the place of a snapshot's data
// in a message.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/fields.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

extern const wire::Message<ConfState> kConfStateTable;
extern const wire::Message<Snapshot> kSnapshotTable;

// snappb.snapshot: what a `.snap` file holds.
struct SnapshotFile {
  std::uint32_t crc32c = 0;  // of the data
  std::string_view data;     // an encoded Snapshot
};
extern const wire::Message<SnapshotFile> kSnapshotFileTable;

inline constexpr std::uint32_t kSnapshotDataField = 1;
inline constexpr std::uint32_t kSnapshotMetadataField = 2;

}  // namespace kvorum::raft
