// The snapshot files of the log, `member/snap/<term>-<index>.snap`: protobuf {crc=1, data=2 =
// raftpb.Snapshot}. They tell up to which entry the backend has the log's content and with which
// members; the keys themselves are in the backend, so the snapshot's own data is empty, but in a
// directory that etcd gets.
//
// Used by the wal executor, and by start-up before it runs; ReceivedSnapshotPath by anyone.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"

namespace kvorum::datadir {

// Durable when it returns: made under a temporary name, synced, renamed, the directory synced.
Result<void> SaveSnapshotFile(FileSystem& fs, const std::string& dir,
                              const raft::SnapshotMetadata& metadata,
                              std::string_view snapshot_data = {});

// kDataLoss for a damaged file. Changes nothing.
Result<raft::SnapshotMetadata> ReadSnapshotFile(FileSystem& fs, const std::string& path);

// The newest file whose checksum is right and for which `valid` returns true. A damaged file is set
// aside as *.broken and an older one is taken. nullopt if there is none.
Result<std::optional<raft::SnapshotMetadata>> LoadNewestSnapshotFile(
    FileSystem& fs, const std::string& dir,
    const std::function<bool(const raft::SnapshotMetadata&)>& valid);

// Sets the files aside, as *.broken, that are newer than this one: the log has no marker for them,
// so a crash came in between, and a purge must not count them as the newest.
Result<void> SetNewerSnapshotFilesAside(FileSystem& fs, const std::string& dir,
                                        const raft::SnapshotMetadata& newest);

// The path of a received snapshot's content until it becomes the database: `<snap
// dir>/<index>.snap.db`.
std::string ReceivedSnapshotPath(const std::string& dir, raft::Index index);
// Removes leftovers of received snapshots, except the file of this index.
Result<void> RemoveReceivedSnapshots(FileSystem& fs, const std::string& dir,
                                     raft::Index except_index);

// Removes all but the newest `keep` files (0 keeps all).
Result<void> PurgeSnapshotFiles(FileSystem& fs, const std::string& dir, std::size_t keep);

}  // namespace kvorum::datadir
