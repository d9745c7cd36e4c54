// Drops history: of each key, all revisions up to the compacted one except the newest.
//
// One compaction runs at a time, and one may wait: what it drops includes what any of those before
// would drop, so that one which is scheduled meanwhile moves it to a later revision. Each goes
// through these steps:
//   1. apply: the mark scheduledCompactRev is published, reads below are refused;
//   2. apply: the index drops revisions, a bounded step per task;
//   3. backend: once everything up to the revision is durable, batches of records are examined and
//      those that nothing needs are deleted, one commit per batch, with a pause in between;
//   4. apply: the mark finishedCompactRev is published, to become durable with the next commit, and
//      the waiters are notified.
// After a crash a scheduled mark without its finished mark makes Open run it again from step 2;
// records that are already deleted are not missed.
//
// Threads: used by the apply executor, works on both executors (see the steps).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "mvcc/index/key_index.h"
#include "mvcc/store/hash.h"

namespace kvorum::mvcc {

class Store;

struct CompactionOptions {
  // Records deleted per batch, of ten times as many seen. Without a value, 1,000, and up to 10,000
  // in a compaction of many revisions: each batch waits for a commit and a pause, and writes at
  // full speed must not outrun the deletion of what they replace.
  std::optional<std::size_t> batch_limit;
  std::size_t BatchLimit(std::int64_t revisions) const;
  // Bytes of values seen per batch; the last may exceed it. They may have to come from the disk,
  // and meanwhile nothing is committed.
  std::size_t batch_bytes = std::size_t{16} << 20;
  Duration pause = std::chrono::milliseconds(10);
  std::size_t index_step = 2000;  // index entries examined per task
};

class Compactor {
 public:
  using Callback = std::move_only_function<void()>;

  explicit Compactor(Store& store);
  ~Compactor();
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  bool idle() const { return jobs_.empty(); }
  // Queues a compaction, started by the next call of OnPublished. Its hash is stored if the
  // previous one had finished, so that it covers everything since. `revision` is above those that
  // were scheduled before.
  void Schedule(std::int64_t revision, std::int64_t previous, bool store_hash,
                Callback on_finished);
  // Calls back when all compactions queued now have finished.
  void WhenIdle(Callback on_finished);
  // Called when the store has published.
  void OnPublished();
  // The state that the jobs work on is replaced: none of them does anything more. Returns the
  // callbacks of their waiters.
  std::vector<Callback> Abandon();

  // The lowest revision whose compaction has not finished, or -1.
  std::int64_t unfinished() const;

 private:
  struct Job;

  void StartNext();
  void StepIndex(const std::shared_ptr<Job>& job);
  void DeleteBatch(const std::shared_ptr<Job>& job);
  Result<bool> CollectBatch(Job& job);
  Result<void> Collect(const IndexView& index, Job& job, const RevisionRecord& record);
  void Finish(const std::shared_ptr<Job>& job);

  Store& store_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool running_ = false;  // the first of them
};

}  // namespace kvorum::mvcc
