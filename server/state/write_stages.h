// When writes reached each stage on their way through this member, for the question what a slow one
// waited for (server/call/slow_writes.h). A mark says that everything up to an entry has reached a
// stage; there is one for each batch, not for each entry.
//
// Threading: each stage is marked by one executor at a time, and read by any thread. A reading is a
// best effort: a mark that is overwritten meanwhile, or one of entries that were replaced by
// another leader's, may give a wrong time. Memory: the last kKept marks of each stage, 96 KiB.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::server {

enum class WriteStage : std::uint8_t {
  kAppended,    // raft: in the log in memory, and handed to the log's writer
  kWriteBegun,  // wal: it writes them
  kSynced,      // wal: they are durable here
  kCommitted,   // raft: handed to the apply loop
  kApplyBegun,  // apply
  kApplied,     // apply: the waiters have been called
};
inline constexpr std::size_t kWriteStages = 6;

class WriteStages {
 public:
  static constexpr std::size_t kKept = 1024;

  void Mark(WriteStage stage, raft::Index up_to, TimePoint now) {
    Ring& ring = rings_[static_cast<std::size_t>(stage)];
    const std::uint64_t place = ring.marks.load(std::memory_order_relaxed);
    Place& mark = ring.places[place % kKept];
    mark.index.store(up_to.value(), std::memory_order_relaxed);
    mark.ns.store(now.ns, std::memory_order_relaxed);
    ring.marks.store(place + 1, std::memory_order_release);
  }

  // The time of the first mark at the entry or behind it. Nothing: there is none, or it may have
  // been overwritten. O(log kKept).
  std::optional<TimePoint> When(WriteStage stage, raft::Index index) const {
    const Ring& ring = rings_[static_cast<std::size_t>(stage)];
    const std::uint64_t end = ring.marks.load(std::memory_order_acquire);
    // The oldest ones may be overwritten while this reads.
    const std::uint64_t begin = end > kReadable ? end - kReadable : 0;
    std::uint64_t low = begin;
    std::uint64_t high = end;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const bool is_before =
          ring.places[middle % kKept].index.load(std::memory_order_relaxed) < index.value();
      (is_before ? low : high) = is_before ? middle + 1 : middle;
    }
    if (low == end || (low == begin && begin > 0)) return std::nullopt;
    return TimePoint{ring.places[low % kKept].ns.load(std::memory_order_relaxed)};
  }

 private:
  static constexpr std::uint64_t kReadable = kKept - kKept / 8;
  struct Place {
    std::atomic<std::uint64_t> index{0};
    std::atomic<std::int64_t> ns{0};
  };
  struct Ring {
    std::atomic<std::uint64_t> marks{0};  // since the start
    std::array<Place, kKept> places{};
  };
  std::array<Ring, kWriteStages> rings_{};
};

}  // namespace kvorum::server
