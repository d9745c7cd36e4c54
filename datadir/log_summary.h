// A member's log, read once from end to end without keeping its entries: for the tools that must
// know whether log and database fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"
#include "wal/log_view.h"
#include "wal/wal.h"

namespace kvorum::datadir {

struct LogSummary {
  wal::Metadata metadata{};
  raft::HardState hard_state{};
  // Those from which the log can be read, oldest first (wal::ListMarkers).
  std::vector<wal::SnapshotMarker> markers{};
  raft::Index first_index = 0;  // of the oldest segment
  raft::Index last_index = 0;
  std::uint64_t entries = 0;  // after `applied`
  // Entries after `applied` that need not be applied: empty ones, and those of etcd's API of
  // version 2, with which versions before 3.6 tell names and versions. Databases of versions
  // before 3.5 lag behind these and have their effect; in later ones nothing behind `applied` has
  // it.
  raft::Index skippable_to = 0;      // the last of those that follow `applied` without a gap
  raft::Term skippable_to_term = 0;  // 0 if the log does not have that entry
  std::optional<raft::Index> first_of_version_2{};  // among the skippable ones
  // The first entry after `applied`, and after those, that cannot be applied here.
  std::optional<raft::Index> unknown_entry{};
  std::optional<wal::TornTail> torn{};
};

// `applied` is the index of the last entry that the database has. Errors are those of the log.
// `readable_to`, if not null, gets the last entry before the damage, if the log is damaged.
Result<LogSummary> SummarizeLog(FileSystem& fs, const std::string& wal_dir, raft::Index applied,
                                raft::Index* readable_to = nullptr);

}  // namespace kvorum::datadir
