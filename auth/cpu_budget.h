// A budget of processor time for some work: a share of one processor, of which some may be saved up
// for a burst. It is a token bucket whose tokens are nanoseconds of work.
//
// Not thread-safe. What a piece of work takes is known when it is done, so the level may fall below
// nothing; then the next waits until it is above.
#pragma once

#include "base/clock.h"

namespace kvorum::auth {

class CpuBudget {
 public:
  struct Options {
    double share = 0;  // of one processor
    Duration burst{};  // what may be saved up; there at the start. 0: there is never any
  };
  CpuBudget(const Options& options, TimePoint now)
      : options_(options), level_(options.burst), at_(now) {}

  bool IsOpen(TimePoint now) const { return LevelAt(now) > Duration{}; }
  // The time until it is open, if nothing is spent; at least a millisecond where it is not.
  Duration UntilOpen(TimePoint now) const;
  void Spend(Duration cpu, TimePoint now);

 private:
  Duration LevelAt(TimePoint now) const;

  Options options_;
  Duration level_;
  TimePoint at_;  // when it was
};

}  // namespace kvorum::auth
