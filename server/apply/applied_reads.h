// Linearizable reads that wait until the entries they must see are applied.
//
// Threading: thread-safe; RunReady belongs to the apply executor, which publishes the applied index
// first. Tasks run outside of the lock. Bounded by the code that admits reads.
#pragma once

#include <map>
#include <mutex>

#include "base/clock.h"
#include "proto/raft_types.h"
#include "server/apply/read_task.h"

namespace kvorum::server {

class RaftStatus;

class AppliedReads {
 public:
  explicit AppliedReads(const RaftStatus& status) : status_(status) {}

  // Runs the task when everything up to the index is applied: at once on this thread if it is, else
  // on the apply executor. A task that waits past its deadline is failed by the next Expire.
  void Wait(raft::Index index, TimePoint deadline, ReadTask task);
  void RunReady(raft::Index applied);
  void Expire(TimePoint now);
  // Fails waiting and later tasks.
  void Stop();

 private:
  struct Read {
    TimePoint deadline;
    ReadTask task;
  };

  const RaftStatus& status_;
  std::mutex mutex_;  // guards what follows
  bool is_stopped_ = false;
  std::multimap<raft::Index, Read> reads_;
};

}  // namespace kvorum::server
