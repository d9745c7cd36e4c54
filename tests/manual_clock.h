// A clock that stands still until it is set. Thread-safe for reading; set by one thread.
#pragma once

#include "base/clock.h"

namespace kvorum {

class ManualClock final : public Clock {
 public:
  TimePoint Now() const override { return now_; }
  std::int64_t WallNanos() const override { return now_.ns; }
  void Advance(Duration d) { now_ = now_ + d; }

 private:
  TimePoint now_{1'000'000'000};
};

}  // namespace kvorum
