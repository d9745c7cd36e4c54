// Compacts the history by itself while this member leads, as its schedule says
// (compaction_schedule.h). A turn costs O(1) and waits for nothing: the compaction is a proposal,
// and the next turn is counted from its outcome.
//
// Runs on one executor. The owner stops the executor before it destroys this.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "base/task.h"
#include "proto/raft_types.h"
#include "server/replica/upkeep/compaction_schedule.h"

namespace kvorum::server {

class AutoCompaction {
 public:
  using Done = std::move_only_function<void(Result<void> outcome)>;
  struct Hooks {
    // The newest revision.
    std::function<std::int64_t()> revision;
    // The term in which this member leads, or 0.
    std::function<raft::Term()> leading_term;
    // Proposes a compaction in that term; `done` runs once, on any thread.
    std::function<void(std::int64_t revision, raft::Term term, Done done)> compact;
  };

  AutoCompaction(Executor& executor, const CompactionPolicy& policy, Hooks hooks)
      : executor_(executor),
        policy_(policy),
        hooks_(std::move(hooks)),
        schedule_(policy, executor.clock().Now()) {}

  void Start();
  // Nothing is proposed from now on. Any thread.
  void Stop();

 private:
  void WaitForTurn();
  void TakeTurn();
  void Compact(std::int64_t revision, raft::Term term);
  void Compacted(std::int64_t revision, TimePoint started, const Result<void>& outcome);

  Executor& executor_;
  const CompactionPolicy policy_;
  const Hooks hooks_;
  CompactionSchedule schedule_;
  bool stopped_ = false;
};

}  // namespace kvorum::server
