// Feeds committed entries to the Applier in batches, and lets linearizable reads through once what
// they must see is applied.
//
// Push and WaitApplied are thread-safe; entries are pushed in log order by the raft executor. The
// work runs on the apply executor.
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
#include "server/applier.h"

namespace kvorum::server {

class ApplyLoop {
 public:
  using AppliedHook =
      std::function<void(raft::Index applied)>;  // on the apply executor, once per batch

  // A batch that takes longer than slow_apply is logged; 0: none is.
  ApplyLoop(mvcc::Store& store, Applier& applier, Executor& apply, raft::Index applied,
            Duration slow_apply, AppliedHook on_applied);

  void Push(std::vector<raft::Entry> entries);
  // Runs the task when everything up to the index is applied: at once on this thread if it is, else
  // on the apply executor.
  void WaitApplied(raft::Index index, Task task);
  raft::Index applied_index() const { return applied_.load(std::memory_order_acquire); }
  // Drops what waits and what comes.
  void Stop();

 private:
  void Drain();
  std::vector<raft::Entry> TakeBatch();
  void RunReady(raft::Index applied);
  void WarnIfSlow(TimePoint begin, const std::vector<raft::Entry>& batch) const;

  mvcc::Store& store_;
  Applier& applier_;
  Executor& apply_;
  const Duration slow_apply_;
  const AppliedHook on_applied_;
  std::atomic<raft::Index> applied_;

  std::mutex mutex_;  // guards what follows
  std::deque<std::vector<raft::Entry>> queue_;
  bool drain_posted_ = false;
  bool stopped_ = false;
  std::multimap<raft::Index, Task> waiting_;
};

}  // namespace kvorum::server
