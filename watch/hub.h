// Distributes the store's revisions to watchers. The apply executor reports each batch; the hub
// leaves it with every shard that has watchers and returns. The shards match and answer on their
// own executors, and the watch executor reads the events that watchers missed
// (docs/decisions/0012).
//
// Threads: NewShard is called before entries are applied; the rest is thread-safe, or the apply
// executor's. Ownership: outlives the store's last entry, the streams, and the tasks posted to the
// executors of shards and catch-up. Not destroyed before those have ended. Bounds: a shard whose
// executor does not get to its inbox loses batches there, not events: its watchers are then caught
// up from the store.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "base/thread_cells.h"
#include "mvcc/store/publish_listener.h"
#include "mvcc/store/store.h"
#include "watch/body.h"
#include "watch/catch_up.h"
#include "watch/shard.h"

namespace kvorum::watch {

struct HubOptions {
  // The time between two progress notifications; up to a tenth is added at random, chosen per
  // stream.
  Duration progress_interval = std::chrono::minutes(10);
  std::uint64_t seed = 1;
  BodyLimits bodies = {};
  CatchUpLimits catch_up = {};
  // The bounds of the batches waiting for a shard; past one of them they are dropped for a jump.
  std::size_t inbox_batches = 256;
  std::size_t inbox_bytes = std::size_t{16} << 20;
  // The bound of the batches that a shard keeps while a watcher is caught up.
  std::size_t recent_bytes = std::size_t{4} << 20;
  // Events with their previous values that are kept for the watchers of published batches, of all
  // shards; who needs more is caught up.
  std::size_t previous_bytes = std::size_t{16} << 20;
  // A stream that has had no room for this long has a client that does not read: writes do not wait
  // for its watchers until they are synced again.
  Duration silence = std::chrono::seconds(1);
};

// For the metrics; gauges are sums of what was added and taken away.
class WatchCounters {
 public:
  enum What : std::size_t { kStreams, kWatchers, kUnsynced, kEvents, kWhats };
  void Add(What what, std::uint64_t n = 1) { cells_.Add(what, n); }
  void Subtract(What what) { cells_.Add(what, static_cast<std::uint64_t>(-1)); }
  std::uint64_t Read(What what) const { return cells_.Sum(what); }

 private:
  ThreadCells cells_{kWhats};
};

class Hub final : public mvcc::PublishListener {
 public:
  Hub(mvcc::Store& store, Executor& watch, HubOptions options);
  ~Hub() override;
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  Shard& NewShard(Executor& executor);
  std::size_t shards() const { return shards_.size(); }
  Shard& shard(std::size_t i) { return *shards_[i]; }
  // Any thread.
  const WatchCounters& counters() const { return counters_; }
  // The batches that shards have not handled yet: their bytes of all shards, and those of the shard
  // that has most. Take the lock.
  std::size_t WaitingBytes();
  struct Waiting {
    std::size_t batches = 0;
    std::size_t bytes = 0;
  };
  Waiting MostWaiting();
  const HubOptions& options() const { return options_; }
  // The revisions that the store is ahead of the synced watchers, of those that are caught up, and
  // of the awaited ones (ShardLag): the largest of all shards. Takes the lock.
  struct Lag {
    std::int64_t synced = 0;
    std::int64_t unsynced = 0;
    std::int64_t awaited = 0;
  };
  Lag LargestLag();

  // ---- mvcc::PublishListener ----
  bool WantsRecords() const override { return active_.load(std::memory_order_relaxed) != 0; }
  void OnPublished(Published published) override;
  void OnInstalled(std::int64_t revision) override;

 private:
  friend class Shard;
  friend class Stream;

  void Feed(const std::shared_ptr<const EventBatch>& batch, std::int64_t revision,
            bool is_installed = false);

  mvcc::Store& store_;
  const HubOptions options_;
  PreviousBudget previous_budget_;  // outlives the batches that the shards hold
  CatchUp catch_up_;
  WatchCounters counters_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<std::size_t> active_{0};  // shards that have watchers

  std::mutex mutex_;  // guards the shards' inboxes and what follows; held for a few lines
  std::int64_t last_revision_;
  std::vector<Shard*> active_shards_;
};

}  // namespace kvorum::watch
