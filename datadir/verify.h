// Looks at the directory of a member that does not run, kvorum's or etcd's, and tells whether the
// member would start, and what is lost if it does not. Changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file_system.h"
#include "datadir/layout.h"
#include "datadir/progress.h"
#include "proto/raft_types.h"

namespace kvorum::datadir {

struct VerifiedDatabase {
  raft::Index applied = 0;
  std::uint64_t records = 0;  // revisions of keys
  std::int64_t revision = 0;
  std::uint64_t size_bytes = 0;
  std::string storage_version = {};  // empty: the database states none
};

struct Verified {
  DatabaseOwner owner = DatabaseOwner::kNobody;
  // Each is nullopt where damage keeps it from being known.
  std::optional<raft::MemberId> member = {};
  std::optional<std::uint64_t> cluster = {};
  std::optional<raft::Index> first_index = {};  // of the log
  std::optional<raft::Index> last_index = {};   // that can be read
  std::optional<raft::Index> commit = {};
  // The newest snapshot file that the log has a marker of; 0 if there is none.
  std::optional<raft::Index> snapshot_index = {};
  std::optional<VerifiedDatabase> database = {};

  // Each keeps it from starting; none: it would start.
  std::vector<std::string> problems = {};
  // Each would be missing afterwards, or has to come from another member or a backup.
  std::vector<std::string> lost = {};
  // Nothing of these keeps it from starting.
  std::vector<std::string> notes = {};

  bool would_start() const { return problems.empty(); }
};

// Reads log and database whole. An error only where there is nothing to look at, or a server runs.
Result<Verified> Verify(FileSystem& fs, const std::string& data_dir, const std::string& wal_dir,
                        Duration timeout, const OnProgress& on_progress = {});

}  // namespace kvorum::datadir
