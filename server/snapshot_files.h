// The snapshot files of the log, `member/snap/<term>-<index>.snap`: protobuf {crc=1, data=2 =
// raftpb.Snapshot}. They say up to where the backend has the log's content and with which members;
// the keys themselves are in the backend, so the snapshot's own data is empty.
//
// Used by the wal executor, and by start-up before it runs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// Durable when it returns: made under a temporary name, synced, renamed, the folder synced.
Result<void> SaveSnapshotFile(FileSystem& fs, const std::string& dir,
                              const raft::SnapshotMetadata& metadata);

// The newest file whose checksum holds and for which `valid` says yes. A damaged file is set aside
// as *.broken and an older one is taken. nullopt if there is none.
Result<std::optional<raft::SnapshotMetadata>> LoadNewestSnapshotFile(
    FileSystem& fs, const std::string& dir,
    const std::function<bool(const raft::SnapshotMetadata&)>& valid);

// Removes all but the newest `keep` files (0 keeps all).
Result<void> PurgeSnapshotFiles(FileSystem& fs, const std::string& dir, std::size_t keep);

}  // namespace kvorum::server
