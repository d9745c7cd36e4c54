// Rebuilds the key index from the backend, in chunks of revisions that threads scan and sort in
// parallel: from all records, or from the saved index and the records after it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "mvcc/index/index_file_reader.h"
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

// The newest record's main revision; -1 without records. About sixty look-ups.
Result<std::int64_t> NewestMain(Snapshot& snapshot);

// Returns the index, published with the newest revision as its mark. kDataLoss if records are
// damaged, missing or contradict each other. No commit may happen meanwhile.
Result<std::unique_ptr<KeyIndex>> RestoreIndex(Backend& backend, const RestoreRequest& request);

// The file, and the marks of the database beside it.
struct SavedIndexRequest {
  FileSystem& files;
  const std::string& database_path;
  std::string marks;
  std::int64_t scheduled_compact = -1;
  std::int64_t finished_compact = -1;
};

// The same from the saved index. An index that has each record of the backend, and as many
// revisions as the backend has records, has no others: so a file that knows keys whose deletion was
// compacted later, or a backend that has lost a record, is kDataLoss. While a compaction is
// unfinished the numbers tell nothing, and a file from before its revision is not used. kNotFound
// without a file.
Result<LoadedIndex> LoadIndex(Backend& backend, const SavedIndexRequest& saved,
                              const RestoreRequest& request);

}  // namespace kvorum::mvcc
