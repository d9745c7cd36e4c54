// The watchers of the streams of one executor (an I/O loop), matched and answered there. The apply
// executor only leaves each batch in the shard's inbox, and no lock is held while watchers are
// matched or messages made.
//
// Threads: everything belongs to the shard's executor except the inbox, which the hub's lock
// guards. Ownership: the hub's. Streams do not outlive it.
//
// Order: a shard has handled all revisions up to revision(). A synced watcher has been given all of
// them that it wants; any other watcher has a `next` at or below revision(), from which it is
// caught up. While a watcher is being caught up the shard keeps the batches that come (up to a
// bound), so that catch-up and live events meet without a gap: without them a watcher would have to
// be caught up again and again while writes go on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/rng.h"
#include "base/task.h"
#include "mvcc/store/store.h"
#include "watch/batch_matches.h"
#include "watch/body.h"
#include "watch/catch_up.h"
#include "watch/due_list.h"
#include "watch/event_batch.h"
#include "watch/feed_box.h"
#include "watch/kept_batches.h"
#include "watch/range_index.h"
#include "watch/shard_lag.h"
#include "watch/stream.h"
#include "watch/watcher.h"

namespace kvorum::watch {

class Hub;

// Looks values up in a view of the store, which is taken at the first lookup.
class StorePreviousValues final : public PreviousValues {
 public:
  explicit StorePreviousValues(mvcc::Store& store) : store_(store) {}
  std::string_view Find(std::string_view key, std::int64_t revision) override;
  void Release() { view_.reset(); }

 private:
  mvcc::Store& store_;
  std::optional<mvcc::ReadView> view_;
};

class Shard {
 public:
  Shard(Hub& hub, Executor& executor, std::uint64_t seed);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  std::unique_ptr<Stream> Open(StreamSink& sink);

  Executor& executor() { return executor_; }
  std::int64_t revision() const { return revision_; }
  std::size_t watchers() const { return watchers_; }
  // Any thread.
  const ShardLag& lag() const { return lag_; }

  // Aborts with the broken invariant. O(watchers).
  void CheckInvariants() const;

 private:
  friend class CatchUp;
  friend class Hub;
  friend class Stream;

  // Bodies of one group's matches, by Wanted.
  using BodyCache = std::vector<std::pair<Wanted, Bodies>>;

  // Handles the batches in the inbox.
  void Drain();
  void TakeFeeds();
  void OnBatch(const std::shared_ptr<const EventBatch>& batch);
  void OnJump(std::int64_t revision);
  void OnOtherHistory(std::int64_t revision);
  void Deliver(WatchGroup& group, const EventBatch& batch, std::span<const std::uint32_t> matches);
  // Returns false if the watcher lags now, or is caught up.
  bool DeliverTo(Watcher& watcher, const Bodies& bodies);
  void SendEvents(Watcher& watcher, const Body& body, std::int64_t header_revision);

  // Takes results of the catch-up; on the shard's executor.
  void OnCaughtUp(std::vector<CaughtUp> results);
  void TakeResult(Watcher& watcher, const CaughtUp& result);
  // Gives a watcher the batches that came while it was caught up, and syncs it (or lets it lag).
  // Returns false if the kept batches do not reach back far enough.
  bool Bridge(Watcher& watcher);
  void EndByCompaction(Watcher& watcher, std::int64_t compact_revision);

  // Handles everything that is published, and returns the revision that a client may have seen by
  // now.
  std::int64_t ReachPresent();
  void AddWatcher(Stream& stream, const CreateRequest& request, const KeyRange& range,
                  std::int64_t id, std::int64_t present);
  // Removes the watcher from the lists of its state.
  void Unlink(Watcher& watcher);
  // Counts it as unsynced, in a state other than kSynced.
  void CountUnsynced(Watcher& watcher);
  void Remove(Watcher& watcher);
  void Sync(Watcher& watcher);
  void Lag(Watcher& watcher, std::int64_t next);
  void ReadFor(Watcher& watcher);
  // Writes do not wait for it any more, until it is synced again.
  void StopAwaiting(Watcher& watcher);

  // The stream's sink has no room: unless it has some in time, its client does not read.
  void HasNoRoom(Stream& stream);
  void HasRoomAgain(Stream& stream);
  // It is silent if it has no room until HubOptions::silence from now.
  void BeginSilence(Stream& stream, TimePoint now);
  void ArmSilenceTimer();
  void OnSilenceTimer();

  void QueueFlush(Stream& stream);
  // Ends a piece of work: jobs go to the catch-up, streams flush.
  void FlushAll();
  void ScheduleProgress(Stream& stream);
  void UnscheduleProgress(Stream& stream);
  void ArmProgressTimer();
  void OnProgressTimer();

  Hub& hub_;
  Executor& executor_;
  Rng rng_;
  RangeIndex<WatchGroup> groups_;
  // Their order follows from the history alone, so that equal histories give equal runs.
  std::vector<Stream*> streams_;
  std::size_t watchers_ = 0;
  std::int64_t revision_ = 0;
  ShardLag lag_;
  bool active_ = false;
  StorePreviousValues previous_;

  std::uint64_t last_ticket_ = 0;
  std::unordered_map<std::uint64_t, Watcher*> catching_up_;
  std::vector<CatchUpJob> new_jobs_;
  KeptBatches recent_;             // while catching_up_ is not empty
  bool bridged_previous_ = false;  // previous values may have been made from recent_
  // The bodies that the catch-up has posted and this shard has not taken yet.
  std::atomic<std::size_t> caught_up_bytes_{0};

  std::vector<Stream*> flushes_;
  DueList<Stream> progress_;
  DueList<Stream> full_;  // streams that are silent soon
  BatchMatches matches_;

  FeedBox inbox_;  // guarded by the hub's lock
};

}  // namespace kvorum::watch
