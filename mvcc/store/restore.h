// Rebuilds the key index from the backend, in chunks of revisions that threads scan and sort in
// parallel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "mvcc/index/key_index.h"
#include "mvcc/lmdb/backend.h"

namespace kvorum::mvcc {

struct RestoreRequest {
  // The published mark is at least this: a compaction may have removed the newest records.
  std::int64_t at_least_revision = 1;
  std::int64_t compact_revision = -1;
  unsigned threads = 0;  // 0: one per core, at most 4; joined before the call returns
  // Called for each live key that is attached to a lease, in no order; on the calling thread.
  std::function<void(std::string_view key, std::int64_t lease)> on_lease_attachment;
};

// Returns the index, published with the newest revision as its mark. kDataLoss if records are
// damaged, missing or contradict each other. No commit may happen meanwhile.
Result<std::unique_ptr<KeyIndex>> RestoreIndex(Backend& backend, const RestoreRequest& request);

// The newest record's main revision; 0 without records.
Result<std::int64_t> NewestMain(Snapshot& content);

}  // namespace kvorum::mvcc
