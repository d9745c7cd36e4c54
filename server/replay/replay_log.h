// Brings a database that holds an archive's base to the target of a plan, by the plan's log.
#pragma once

#include <cstdint>
#include <functional>

#include "archive/catalog/contents.h"
#include "archive/restore/object_reads.h"
#include "archive/restore/read_ahead.h"
#include "archive/store/object_store.h"
#include "proto/raft_types.h"
#include "server/replay/replay.h"

namespace kvorum::server {

struct Replayed {
  raft::Index index = 0;
  std::int64_t revision = 0;
  archive::UnixMillis time_ms = 0;  // the last one at or before that entry that is known

  friend bool operator==(const Replayed&, const Replayed&) = default;
};

// The revision at which the replay of such a plan stops by itself (ReplayOptions).
std::optional<std::int64_t> StopRevision(const archive::Plan& plan);

// Applies the entries behind the base that the replay's database holds. `base_term` is that of the
// base's last entry. `on_progress` is called after some entries; may be empty. The
// errors name the object that is to blame; kNotFound if the log ends before the target. Blocks, for
// the store and for the database. Memory: that of archive::LogReader and of the store.
archive::Read<Replayed> ReplayLog(archive::ObjectStore& store, const archive::Plan& plan,
                                  raft::Term base_term, Replay& replay, archive::Ahead ahead,
                                  const std::function<void(const Replayed&)>& on_progress);

}  // namespace kvorum::server
