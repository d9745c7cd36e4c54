// The revisions up to which a shard and the watchers that it catches up have got: for the metric of
// their lag, and for the bound of it (docs/decisions/0044).
//
// Awaited watchers are those whose lag writes may be held for: they have been synced, and their
// clients read (Watcher::is_awaited).
//
// A crowd is some of a shard's streams, and more than one: the lag that all but the slowest few of
// them keep within says that the server cannot keep up, where the largest lag may be one client's
// own doing.
//
// Changed by the shard's executor only: when a batch is done, and when a watcher's state changes;
// never for an event. A change shows once Publish is called, which a piece of work does at its end:
// a watcher that goes from one state to another is at no time missing. What is published may be
// read by any thread. O(log n) a change in the number of different revisions, O(kMostOfCrowd) a
// Publish.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace kvorum::watch {

class ShardLag {
 public:
  // No watcher is being caught up.
  static constexpr std::int64_t kNone = INT64_MAX;
  // Watchers by the revision that they need next.
  using Counts = std::map<std::int64_t, std::size_t>;
  // The awaited unsynced watchers of one stream.
  using StreamCounts = std::unique_ptr<Counts>;
  static constexpr std::size_t kMostOfCrowd = 32;
  // The streams of so many that are a crowd.
  static std::size_t CrowdOf(std::size_t streams) {
    return std::clamp<std::size_t>(streams / 8, 2, kMostOfCrowd);
  }

  // Synced watchers have been given everything up to this revision.
  void Reached(std::int64_t revision) { given_ = revision; }
  // An unsynced watcher that needs everything from this revision on.
  void Add(std::int64_t next) { ++unsynced_[next]; }
  void Remove(std::int64_t next) { TakeOne(unsynced_, next); }
  // The same for one of this stream that is awaited, in addition.
  void AddAwaited(StreamCounts& stream, std::int64_t next) {
    const std::int64_t before = OldestOf(stream);
    if (stream == nullptr) stream = std::make_unique<Counts>();
    ++(*stream)[next];
    Move(before, OldestOf(stream));
  }
  void RemoveAwaited(StreamCounts& stream, std::int64_t next) {
    const std::int64_t before = OldestOf(stream);
    TakeOne(*stream, next);
    if (stream->empty()) stream.reset();
    Move(before, OldestOf(stream));
  }
  // `streams`: of the shard, behind or not.
  void Publish(std::size_t streams) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    reached_.store(given_, kRelaxed);
    oldest_.store(OldestOf(unsynced_), kRelaxed);
    awaited_from_.store(std::min(given_ + 1, OldestOf(behind_)), kRelaxed);
    crowd_from_.store(std::min(given_ + 1, CrowdsOldest(CrowdOf(streams))), kRelaxed);
  }

  const Counts& unsynced() const { return unsynced_; }
  // The streams with such watchers, by the first revision that one of these needs.
  const Counts& behind() const { return behind_; }
  static std::int64_t OldestOf(const Counts& counts) {
    return counts.empty() ? kNone : counts.begin()->first;
  }
  static std::int64_t OldestOf(const StreamCounts& counts) {
    return counts == nullptr ? kNone : OldestOf(*counts);
  }

  // ---- any thread ----
  std::int64_t reached() const { return reached_.load(std::memory_order_relaxed); }
  // The smallest of the revisions that unsynced watchers need; kNone without any.
  std::int64_t oldest() const { return oldest_.load(std::memory_order_relaxed); }
  // The first revision that some synced or awaited watcher has not been given.
  std::int64_t awaited_from() const { return awaited_from_.load(std::memory_order_relaxed); }
  // The same without the streams that are furthest behind, one fewer than a crowd.
  std::int64_t crowd_from() const { return crowd_from_.load(std::memory_order_relaxed); }

 private:
  static void TakeOne(Counts& from, std::int64_t next) {
    const auto found = from.find(next);
    if (--found->second == 0) from.erase(found);
  }

  // A stream's first revision has changed.
  void Move(std::int64_t before, std::int64_t after) {
    if (before == after) return;
    if (before != kNone) TakeOne(behind_, before);
    if (after != kNone) ++behind_[after];
  }
  std::int64_t CrowdsOldest(std::size_t crowd) const {
    for (const auto& [next, streams] : behind_) {
      if (streams >= crowd) return next;
      crowd -= streams;
    }
    return kNone;
  }

  std::int64_t given_ = 0;
  Counts unsynced_;
  Counts behind_;
  std::atomic<std::int64_t> reached_{0};
  std::atomic<std::int64_t> oldest_{kNone};
  std::atomic<std::int64_t> awaited_from_{1};
  std::atomic<std::int64_t> crowd_from_{1};
};

}  // namespace kvorum::watch
