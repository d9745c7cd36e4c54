// Looks at the directory of a member that does not run, kvorum's or etcd's, and tells whether the
// member would start, and what is lost if it does not. Changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file_system.h"
#include "datadir/layout.h"
#include "proto/raft_types.h"

namespace kvorum::datadir {

struct Verified {
  DatabaseOwner owner = DatabaseOwner::kNobody;
  raft::MemberId member = raft::kNone;
  std::uint64_t cluster = 0;
  // The log, as far as it can be read.
  raft::Index first_index = 0;
  raft::Index last_index = 0;
  raft::Index commit = 0;
  raft::Index snapshot_index = 0;  // of the newest snapshot file that the log has a marker of
  // The database.
  raft::Index applied = 0;
  std::uint64_t records = 0;  // revisions of keys
  std::int64_t revision = 0;
  std::uint64_t size_bytes = 0;
  std::string storage_version = {};

  // Each keeps it from starting; none: it would start.
  std::vector<std::string> problems = {};
  // Each would be missing afterwards, or has to come from another member or a backup.
  std::vector<std::string> lost = {};
  // A start puts these in order by itself.
  std::vector<std::string> notes = {};

  bool would_start() const { return problems.empty(); }
};

// Reads log and database whole. An error only where there is nothing to look at, or a server runs.
Result<Verified> Verify(FileSystem& fs, const std::string& data_dir, const std::string& wal_dir,
                        Duration timeout);

}  // namespace kvorum::datadir
