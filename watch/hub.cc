#include "watch/hub.h"

#include <algorithm>

#include "base/rng.h"

namespace kvorum::watch {

Hub::Hub(mvcc::Store& store, Executor& watch, HubOptions options)
    : store_(store),
      options_(options),
      previous_budget_(options.previous_bytes),
      catch_up_(store, watch, options.catch_up, options.bodies, options.seed),
      last_revision_(store.revision()) {}

Hub::~Hub() = default;

Shard& Hub::NewShard(Executor& executor) {
  const std::uint64_t seed = options_.seed + shards_.size() + 1;
  return *shards_.emplace_back(std::make_unique<Shard>(*this, executor, seed));
}

void Hub::OnPublished(Published published) {
  std::shared_ptr<const EventBatch> batch;
  if (published.records.has_value())
    batch = std::make_shared<const EventBatch>(published, &previous_budget_);
  Feed(batch, published.last);
}

void Hub::OnInstalled(std::int64_t revision) { Feed(nullptr, revision, /*is_installed=*/true); }

std::size_t Hub::WaitingBytes() {
  std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const Shard* shard : active_shards_) bytes += shard->inbox_.bytes();
  return bytes;
}

Hub::Waiting Hub::MostWaiting() {
  std::lock_guard lock(mutex_);
  Waiting most;
  for (const Shard* shard : active_shards_) {
    most.batches = std::max(most.batches, shard->inbox_.batches());
    most.bytes = std::max(most.bytes, shard->inbox_.bytes());
  }
  return most;
}

Hub::Lag Hub::LargestLag() {
  std::lock_guard lock(mutex_);
  Lag largest;
  for (const Shard* shard : active_shards_) {
    largest.synced = std::max(largest.synced, last_revision_ - shard->lag().reached());
    // A watcher that needs the next revision is behind by nothing.
    if (const std::int64_t oldest = shard->lag().oldest(); oldest != ShardLag::kNone)
      largest.unsynced = std::max(largest.unsynced, last_revision_ + 1 - oldest);
    largest.awaited = std::max(largest.awaited, last_revision_ + 1 - shard->lag().awaited_from());
  }
  return largest;
}

void Hub::Feed(const std::shared_ptr<const EventBatch>& batch, std::int64_t revision,
               bool is_installed) {
  std::vector<Shard*> to_wake;
  {
    std::lock_guard lock(mutex_);
    const bool is_other_history = is_installed && revision < last_revision_;
    last_revision_ = revision;
    for (Shard* shard : active_shards_) {
      if (shard->inbox_.Put(batch, revision, is_other_history)) to_wake.push_back(shard);
    }
  }
  for (Shard* shard : to_wake) shard->executor_.Post([shard] { shard->Drain(); });
}

}  // namespace kvorum::watch
