// The revisions up to which a shard and the watchers that it catches up have got: for the metric of
// their lag, and for the bound of it (docs/decisions/0044).
//
// Awaited watchers are those whose lag writes may be held for: they have been synced, and their
// clients read (Watcher::is_awaited).
//
// Changed by the shard's executor only: when a batch is done, and when a watcher's state changes;
// never for an event. A change shows once Publish is called, which a piece of work does at its end:
// a watcher that goes from one state to another is at no time missing. reached(), oldest() and
// awaited_from() may be read by any thread. O(log n) a change in the number of different revisions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

namespace kvorum::watch {

class ShardLag {
 public:
  // No watcher is being caught up.
  static constexpr std::int64_t kNone = INT64_MAX;
  // Watchers by the revision that they need next.
  using Counts = std::map<std::int64_t, std::size_t>;

  // Synced watchers have been given everything up to this revision.
  void Reached(std::int64_t revision) { given_ = revision; }
  // An unsynced watcher that needs everything from this revision on.
  void Add(std::int64_t next) { ++unsynced_[next]; }
  void Remove(std::int64_t next) { TakeOne(unsynced_, next); }
  // The same for one that is awaited, in addition.
  void AddAwaited(std::int64_t next) { ++awaited_[next]; }
  void RemoveAwaited(std::int64_t next) { TakeOne(awaited_, next); }
  void Publish() {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    reached_.store(given_, kRelaxed);
    oldest_.store(OldestOf(unsynced_), kRelaxed);
    awaited_from_.store(std::min(given_ + 1, OldestOf(awaited_)), kRelaxed);
  }

  const Counts& unsynced() const { return unsynced_; }
  const Counts& awaited() const { return awaited_; }
  static std::int64_t OldestOf(const Counts& counts) {
    return counts.empty() ? kNone : counts.begin()->first;
  }

  // ---- any thread ----
  std::int64_t reached() const { return reached_.load(std::memory_order_relaxed); }
  // The smallest of the revisions that unsynced watchers need; kNone without any.
  std::int64_t oldest() const { return oldest_.load(std::memory_order_relaxed); }
  // The first revision that some synced or awaited watcher has not been given.
  std::int64_t awaited_from() const { return awaited_from_.load(std::memory_order_relaxed); }

 private:
  static void TakeOne(Counts& from, std::int64_t next) {
    const auto found = from.find(next);
    if (--found->second == 0) from.erase(found);
  }

  std::int64_t given_ = 0;
  Counts unsynced_;
  Counts awaited_;
  std::atomic<std::int64_t> reached_{0};
  std::atomic<std::int64_t> oldest_{kNone};
  std::atomic<std::int64_t> awaited_from_{1};
};

}  // namespace kvorum::watch
