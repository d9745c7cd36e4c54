// Feeds committed entries to the Applier in batches, and lets linearizable reads through once what
// they must see is applied.
//
// Push, PushSnapshot and WaitApplied are thread-safe; entries are pushed in log order by the raft
// executor. The work runs on the apply executor. A snapshot takes its turn behind the entries that
// were pushed before it; nothing is applied while it is installed. An entry that cannot be applied
// is the last: the loop stops there.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/executor.h"
#include "mvcc/store.h"
#include "proto/raft_types.h"
#include "server/apply/applier.h"
#include "server/apply/read_task.h"

namespace kvorum::server {

class ApplyLoop {
 public:
  using AppliedHook =
      std::function<void(raft::Index applied)>;  // on the apply executor, once per batch

  // Installs a snapshot, then runs `done`, both on the apply executor.
  using InstallHook =
      std::function<void(const std::shared_ptr<const raft::Snapshot>& snapshot, Task done)>;

  // A batch that takes longer than slow_apply is logged; 0: none is.
  ApplyLoop(mvcc::Store& store, Applier& applier, Executor& apply, raft::Index applied,
            Duration slow_apply, AppliedHook on_applied, InstallHook install);

  void Push(std::vector<raft::Entry> entries);
  void PushSnapshot(std::shared_ptr<const raft::Snapshot> snapshot);
  // Runs the task when everything up to the index is applied: at once on this thread if it is, else
  // on the apply executor. One that waits past its deadline is failed by the next ExpireWaiting.
  void WaitApplied(raft::Index index, TimePoint deadline, ReadTask task);
  void ExpireWaiting(TimePoint now);
  raft::Index applied_index() const { return applied_.load(std::memory_order_acquire); }
  // Drops the entries that wait and come; reads fail.
  void Stop();

 private:
  // Entries, or a snapshot.
  struct Item {
    std::vector<raft::Entry> entries;
    std::shared_ptr<const raft::Snapshot> snapshot;
  };

  struct WaitingRead {
    TimePoint deadline;
    ReadTask task;
  };

  void PushItem(Item item);
  void Drain();
  Item Next();
  Item Take();
  void SetApplied(raft::Index applied);
  void RunReady(raft::Index applied);
  void WarnIfSlow(TimePoint begin, const std::vector<raft::Entry>& batch) const;

  mvcc::Store& store_;
  Applier& applier_;
  Executor& apply_;
  const Duration slow_apply_;
  const AppliedHook on_applied_;
  const InstallHook install_;
  std::atomic<raft::Index> applied_;
  std::vector<raft::Entry> left_;  // of the last batch, for which there was no room; apply executor

  std::mutex mutex_;  // guards what follows
  std::deque<Item> queue_;
  bool drain_posted_ = false;
  bool stopped_ = false;
  std::multimap<raft::Index, WaitingRead> waiting_;
};

}  // namespace kvorum::server
