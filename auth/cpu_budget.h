// A budget of processor time for some kind of work: a share of one processor, part of which may be
// saved up for a burst. It is a token bucket whose tokens are nanoseconds of work.
//
// Not thread-safe. The cost of a piece of work is known only when it is done, so the level may
// become negative; the next piece then waits until it is positive.
#pragma once

#include "base/clock.h"

namespace kvorum::auth {

class CpuBudget {
 public:
  struct Options {
    double share = 0;  // of one processor
    Duration burst{};  // the most that is saved up, also the level at the start. 0: never open
  };
  CpuBudget(const Options& options, TimePoint now)
      : options_(options), level_(options.burst), at_(now) {}

  bool IsOpen(TimePoint now) const { return LevelAt(now) > Duration{}; }
  // The time until it is open, if nothing is spent; at least a millisecond if it is not open.
  Duration UntilOpen(TimePoint now) const;
  void Spend(Duration cpu, TimePoint now);

 private:
  Duration LevelAt(TimePoint now) const;

  Options options_;
  Duration level_;
  TimePoint at_;  // the time of the level
};

}  // namespace kvorum::auth
