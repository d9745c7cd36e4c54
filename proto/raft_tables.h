// The tables of raftpb's messages that are part of others, and of the file around a snapshot. Entry
// and Message are read and written by hand, by the numbers of their tables (raft_types.cc), and so
// is the position of a snapshot's data in a message.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/fields.h"
#include "proto/raft_types.h"

namespace kvorum::raft {

extern const wire::Message<ConfState> kConfStateTable;
extern const wire::Message<Snapshot> kSnapshotTable;
extern const wire::Table kEntryTable;
extern const wire::Table kMessageTable;

// snappb.snapshot: the content of a `.snap` file.
struct SnapshotFile {
  std::uint32_t crc32c = 0;  // of the data
  std::string_view data;     // an encoded Snapshot
};
extern const wire::Message<SnapshotFile> kSnapshotFileTable;

inline constexpr std::uint32_t kSnapshotDataField = 1;
inline constexpr std::uint32_t kSnapshotMetadataField = 2;

}  // namespace kvorum::raft
