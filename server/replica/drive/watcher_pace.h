// Gives the key writes of this member's clients to Raft no faster than its watchers take their
// revisions (docs/decisions/0044). Those for which there is no room are held, first come, first
// served, with their deadlines (WaitingProposals); everything else passes.
//
// There is room for as many as the bound exceeds the lag by, less those already given to Raft whose
// outcome is not known: each makes one revision at most. So with nothing on its way, only watchers
// whose clients read hold a write back.
//
// Used by the raft executor. Cost: one call of `lag` and one short lock a batch, and the same each
// kLook while some are held. Without a bound it is not called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/task.h"
#include "server/replica/drive/proposal.h"

namespace kvorum::server {

class WaitingProposals;

class WatcherPace {
 public:
  // The pause between two looks at what is held.
  static constexpr Duration kLook = std::chrono::milliseconds(1);
  // The revisions that this member's watchers lack, for which writes may wait.
  using Lag = std::function<std::int64_t()>;

  struct Hooks {
    Lag lag;
    // Takes what was held and need not be any more.
    std::function<void(std::vector<Proposal> proposals)> propose;
  };
  // `max_lag` 0: no bound. Outlives the executor's tasks.
  WatcherPace(Executor& executor, WaitingProposals& waiting, std::uint64_t max_lag, Hooks hooks);

  bool is_bounded() const { return max_lag_ != 0; }
  // Holds those of the proposals that have to wait, and adds the held ones that need not any more.
  void Pass(std::vector<Proposal>& proposals);

 private:
  // `arriving`: key writes that are neither held nor given to Raft yet.
  std::size_t Room(std::size_t arriving) const;
  // Sets the timer, while something is held.
  void Arm();
  void Look();

  Executor& executor_;
  WaitingProposals& waiting_;
  const std::int64_t max_lag_;
  const Hooks hooks_;
  bool is_armed_ = false;
};

}  // namespace kvorum::server
