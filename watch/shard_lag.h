// The revisions up to which a shard and the watchers that it catches up have got, for the metric of
// their lag.
//
// Changed by the shard's executor only, when a batch is done and when a watcher leaves or joins
// those that are caught up; never for an event. reached() and oldest() may be read by any thread.
// O(log n) a change in the number of different revisions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

namespace kvorum::watch {

class ShardLag {
 public:
  // No watcher is being caught up.
  static constexpr std::int64_t kNone = INT64_MAX;

  // Synced watchers have been given everything up to this revision.
  void Reached(std::int64_t revision) { reached_.store(revision, std::memory_order_relaxed); }
  // A watcher that needs everything from this revision on.
  void Add(std::int64_t next) {
    ++unsynced_[next];
    Publish();
  }
  void Remove(std::int64_t next) {
    const auto found = unsynced_.find(next);
    if (--found->second == 0) unsynced_.erase(found);
    Publish();
  }
  // The watchers by the revision that they need next.
  const std::map<std::int64_t, std::size_t>& unsynced() const { return unsynced_; }

  // ---- any thread ----
  std::int64_t reached() const { return reached_.load(std::memory_order_relaxed); }
  // The smallest of the revisions that unsynced watchers need; kNone without any.
  std::int64_t oldest() const { return oldest_.load(std::memory_order_relaxed); }

 private:
  void Publish() {
    oldest_.store(unsynced_.empty() ? kNone : unsynced_.begin()->first, std::memory_order_relaxed);
  }

  std::map<std::int64_t, std::size_t> unsynced_;
  std::atomic<std::int64_t> reached_{0};
  std::atomic<std::int64_t> oldest_{kNone};
};

}  // namespace kvorum::watch
