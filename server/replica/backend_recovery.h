// A member's database before it is opened to stay: up to where it has applied the log, and whether
// a received snapshot has still to take its place.
//
// Blocks its thread: reads the disk.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/store.h"
#include "proto/raft_types.h"

namespace kvorum::server {

std::string DatabasePath(const std::string& snap_dir);

// 0 without a database.
Result<raft::Index> AppliedIndex(FileSystem& fs, const mvcc::BackendOpener& open,
                                 const std::string& snap_dir);

// A snapshot that was received, and is marked in the log at this index, and had not taken the
// database's place when the process ended, takes it now.
Result<std::unique_ptr<mvcc::Backend>> OpenMemberBackend(FileSystem& fs,
                                                         const mvcc::BackendOpener& open,
                                                         const std::string& snap_dir,
                                                         raft::Index snapshot_index);

}  // namespace kvorum::server
