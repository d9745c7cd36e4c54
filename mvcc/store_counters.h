// Counts of the store's operations since it was opened, for the metrics. Thread-safe, relaxed: a
// reading may be some calls behind.
#pragma once

#include <atomic>
#include <cstdint>

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
    if (ranges + puts + deletes > 1) Add(txns_, 1);
    Add(ranges_, ranges);
    Add(puts_, puts);
    Add(deletes_, deletes);
    Add(put_bytes_, put_bytes);
  }
  void AddRange() { Add(ranges_, 1); }
  void AddCompacted(std::uint64_t records) { Add(compacted_records_, records); }

  Values Read() const {
    return {.ranges = ranges_.load(std::memory_order_relaxed),
            .puts = puts_.load(std::memory_order_relaxed),
            .deletes = deletes_.load(std::memory_order_relaxed),
            .txns = txns_.load(std::memory_order_relaxed),
            .put_bytes = put_bytes_.load(std::memory_order_relaxed),
            .compacted_records = compacted_records_.load(std::memory_order_relaxed)};
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  static void Add(Counter& counter, std::uint64_t n) {
    if (n > 0) counter.fetch_add(n, std::memory_order_relaxed);
  }

  Counter ranges_{0};
  Counter puts_{0};
  Counter deletes_{0};
  Counter txns_{0};
  Counter put_bytes_{0};
  Counter compacted_records_{0};
};

}  // namespace kvorum::mvcc
