// Gives the key writes of this member's clients to Raft no faster than its watchers take their
// revisions (docs/decisions/0044). Those for which there is no room are held, first come, first
// served, with their deadlines (WaitingProposals); everything else passes.
//
// Under the hard bound there is room for as many as it exceeds the lag by, less those already given
// to Raft whose outcome is not known: each makes one revision at most. So with nothing on its way,
// only watchers whose clients read hold a write back.
//
// The soft bound is on by default, so no client may stop writes by it. It counts only the lag that
// a crowd of watchers' streams has in common, and lets kLeastPerSecond writes pass however large it
// is. There is room for as many as it exceeds the lag by: those on their way may pass it, and a
// writer with any number in flight is not slowed while no crowd is behind.
//
// Used by the raft executor. Cost: one call of each bound's lag a batch, for the hard one also a
// short lock, and the same each kLook while some are held. Without a bound it is not called.
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
  // The rate of writes that the soft bound leaves at least, while some are held.
  static constexpr std::int64_t kLeastPerSecond = 2'000;
  // The revisions that this member's watchers lack, for which writes may wait.
  using Lag = std::function<std::int64_t()>;

  // In revisions; 0: none.
  struct Bounds {
    std::uint64_t hard = 0;
    std::uint64_t soft = 0;
  };
  struct Hooks {
    Lag lag;        // for the hard bound
    Lag crowd_lag;  // for the soft one
    // Takes what was held and need not be any more.
    std::function<void(std::vector<Proposal> proposals)> propose;
  };
  // Outlives the executor's tasks.
  WatcherPace(Executor& executor, WaitingProposals& waiting, Bounds bounds, Hooks hooks);

  bool is_bounded() const { return hard_ != 0 || soft_ != 0; }
  // Holds those of the proposals that have to wait, and adds the held ones that need not any more.
  void Pass(std::vector<Proposal>& proposals);

 private:
  // `arriving`: key writes that are neither held nor given to Raft yet; `least`: the number that
  // the soft bound lets pass now in any case.
  std::size_t Room(std::size_t arriving, std::int64_t least) const;
  // Sets the timer, while something is held.
  void Arm();
  void PostLook();
  void Look();

  Executor& executor_;
  WaitingProposals& waiting_;
  const std::int64_t hard_;
  const std::int64_t soft_;
  const Hooks hooks_;
  bool is_armed_ = false;
  TimePoint least_since_;  // while armed: the time up to which kLeastPerSecond is used up
};

}  // namespace kvorum::server
