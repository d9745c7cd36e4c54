// Reads events that watchers have missed: on its own executor, in rounds of bounded work, for many
// watchers at near revisions by one scan of the store's history.
//
// A round takes the job that has waited longest and those at most a few thousand revisions away,
// scans from their lowest revision on, and ends at the store's newest revision or at one of its
// bounds: records read and their bytes, bytes found, bytes for one stream; previous values are
// among those found. A watcher that is not done comes with a new job when its stream has room. No
// view of the store outlives a round. A round ends within a revision only for a watcher that takes
// parts of one, or past the largest message: what it holds is that much, or the revision.
//
// Threads: Add is thread-safe; the work runs on the watch executor; results are posted to the
// executors of the shards, which outlive the last round. A job whose stream has closed is dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/inbox.h"
#include "base/task.h"
#include "mvcc/store/store.h"
#include "watch/body.h"
#include "watch/range_index.h"

namespace kvorum::watch {

class Shard;

// State shared by a stream and its jobs.
struct CatchUpAccount {
  std::atomic<bool> closed{false};
  // The watch executor's: the bytes that this round has read for the stream.
  std::uint64_t round = 0;
  std::size_t round_bytes = 0;
};

struct CatchUpLimits {
  std::int64_t join_revisions = 4'000;  // jobs this near to each other share a scan
  std::size_t jobs = 4'096;
  std::size_t records = 20'000;
  std::size_t read_bytes = std::size_t{32} << 20;     // of these records, wanted or not
  std::size_t bytes = std::size_t{8} << 20;           // of bodies, each counted once
  std::size_t stream_bytes = std::size_t{256} << 10;  // for the watchers of one stream together
  // Bodies that a shard has not taken yet: past it nothing is read for that shard.
  std::size_t untaken_bytes = std::size_t{16} << 20;
};

struct CatchUpJob {
  Shard* shard = nullptr;
  std::uint64_t ticket = 0;
  std::shared_ptr<CatchUpAccount> account;
  WatchedRange range;
  Wanted wanted;
  std::int64_t next = 0;       // the first revision it needs
  std::uint32_t next_sub = 0;  // of that, the events from this one on
  bool must_lead = false;      // an earlier scan did not reach it
};

struct CaughtUp {
  std::uint64_t ticket = 0;
  std::shared_ptr<const std::vector<Body>> bodies = {};  // null if nothing was found
  std::int64_t next = 0;                                 // the first revision not yet read, or
  std::uint32_t next_sub = 0;                            // from this event on
  std::int64_t store_revision = 0;                       // at the time of reading
  std::int64_t compact_revision = 0;  // not 0: the revisions it needs were compacted up to here
  std::optional<Error> error = {};    // the events it needs cannot be read
};

class CatchUp {
 public:
  CatchUp(mvcc::Store& store, Executor& executor, CatchUpLimits limits, BodyLimits bodies,
          std::uint64_t seed);

  void Add(std::vector<CatchUpJob> jobs);

 private:
  struct Round;

  void Run();
  void TakeInbox();
  // Removes the jobs of the next round from the queue; none if all shards have enough to take.
  std::vector<CatchUpJob> Choose();
  bool HasRoom(const Shard& shard) const;
  // The shard has taken bodies of a round. Any thread.
  void OnTaken(Shard& shard, std::size_t bytes);

  mvcc::Store& store_;
  Executor& executor_;
  const CatchUpLimits limits_;
  const BodyLimits body_limits_;
  const std::uint64_t seed_;

  // The watch executor's.
  std::deque<CatchUpJob> queue_;
  std::uint64_t rounds_ = 0;

  std::atomic<bool> waits_for_shard_{false};
  Inbox<std::vector<CatchUpJob>> inbox_;
};

}  // namespace kvorum::watch
