// Deletes what retention no longer keeps. Threading: that of the store. Memory: the names of the
// histories of one line, and their records.
#pragma once

#include <cstdint>

#include "archive/catalog/retention.h"
#include "archive/ship/ship_error.h"
#include "archive/store/object_store.h"

namespace kvorum::archive {

struct PruneCounts {
  std::uint64_t deleted = 0;
  std::uint64_t locked = 0;  // wanted, and left: a lock protects them
  std::string lock{};        // the first one's text
};

// A parent's writer counts as dead after so long without a mark, if bases are not kept longer.
inline constexpr UnixMillis kWriterDeadMs = UnixMillis{24} * 3'600'000;

// Lists the line of `head` and plans.
ShipResult<Retention> FindRetention(ObjectStore& store, HistoryId head,
                                    const RetentionOptions& options, UnixMillis now_ms);

// Deletes in the order of the plan, in batches. The last object of each batch is asked for its lock
// first, since a store with versions takes the deletion of a locked object and keeps its bytes.
ShipResult<PruneCounts> Prune(ObjectStore& store, const Retention& retention);

}  // namespace kvorum::archive
