// Counts and times of the store's operations since it was opened, for the metrics. Thread-safe; a
// reading may be some calls behind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/metric.h"
#include "base/thread_cells.h"

namespace kvorum::mvcc {

class StoreCounters {
 public:
  struct Values {
    std::uint64_t ranges = 0;
    std::uint64_t puts = 0;
    std::uint64_t deletes = 0;  // delete ranges, not keys
    std::uint64_t txns = 0;     // with more than one operation
    std::uint64_t put_bytes = 0;
    std::uint64_t compacted_records = 0;
  };

  void AddTxn(std::uint64_t ranges, std::uint64_t puts, std::uint64_t deletes,
              std::uint64_t put_bytes) {
    ThreadCells::Mine mine = cells_.Here();
    if (ranges + puts + deletes > 1) mine.Add(kTxns, 1);
    if (ranges > 0) mine.Add(kRanges, ranges);
    if (puts > 0) mine.Add(kPuts, puts);
    if (deletes > 0) mine.Add(kDeletes, deletes);
    if (put_bytes > 0) mine.Add(kPutBytes, put_bytes);
  }
  void AddRange() { cells_.Add(kRanges, 1); }
  void AddCompacted(std::uint64_t records) { cells_.Add(kCompactedRecords, records); }

  Values Read() const {
    return {.ranges = cells_.Sum(kRanges),
            .puts = cells_.Sum(kPuts),
            .deletes = cells_.Sum(kDeletes),
            .txns = cells_.Sum(kTxns),
            .put_bytes = cells_.Sum(kPutBytes),
            .compacted_records = cells_.Sum(kCompactedRecords)};
  }

  Histogram commit{DoublingBounds(0.001, 14)};
  Histogram commit_bytes{DoublingBounds(1024, 16), 1};
  Histogram defragment{DoublingBounds(0.1, 13)};
  Histogram snapshot{DoublingBounds(0.01, 17)};  // sent, to a client or a member
  Histogram hash{DoublingBounds(0.01, 15)};      // of everything
  Histogram hash_kv{DoublingBounds(0.01, 15)};   // of a revision
  Histogram index_compaction_pause{DoublingBounds(0.5, 14), Histogram::kMilliseconds};
  Histogram compaction_pause{DoublingBounds(1, 13), Histogram::kMilliseconds};
  Histogram compaction{DoublingBounds(100, 14), Histogram::kMilliseconds};
  std::atomic<std::int64_t> last_compaction_unix_s{0};
  std::atomic<int> defragmentations_running{0};
  // Facts of the apply executor as of the last publish.
  std::atomic<std::int64_t> live_keys{0};
  std::atomic<std::size_t> index_bytes{0};  // taken from the system
  // A start after a kill would read these, as of the last commit.
  std::atomic<std::int64_t> saved_index_revision{0};  // 0: none that it could use
  std::atomic<std::uint64_t> later_records{0};        // all, without one
  std::atomic<std::uint64_t> saved_index_bytes{0};    // written while serving

 private:
  enum Cell : std::size_t { kRanges, kPuts, kDeletes, kTxns, kPutBytes, kCompactedRecords, kCells };
  ThreadCells cells_{kCells};
};

}  // namespace kvorum::mvcc
