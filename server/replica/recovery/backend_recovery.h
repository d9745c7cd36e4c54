// A member's database before it is opened for good: the index up to which it has applied the log,
// and whether a received snapshot still has to replace it.
//
// Blocks its thread: reads the disk.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/store/store.h"
#include "proto/raft_types.h"

namespace kvorum::server {

std::string DatabasePath(const std::string& snap_dir);

// 0 without a database.
Result<raft::Index> AppliedIndex(FileSystem& fs, const mvcc::BackendOpener& open,
                                 const std::string& snap_dir);

// The database is about to be replaced by a snapshot: removes the note about it, durably.
Result<void> RemoveDatabaseNote(FileSystem& fs, const std::string& note);

// If a received snapshot is marked in the log at this index, but had not replaced the database when
// the process ended, it replaces it now, and the note about it goes.
Result<std::unique_ptr<mvcc::Backend>> OpenMemberBackend(FileSystem& fs,
                                                         const mvcc::BackendOpener& open,
                                                         const std::string& snap_dir,
                                                         const std::string& database_note,
                                                         raft::Index snapshot_index);

}  // namespace kvorum::server
