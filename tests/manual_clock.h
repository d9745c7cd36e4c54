// A clock that stands still until it is set. Thread-safe for reading; set by one thread. Its time
// of day begins as its time.
#pragma once

#include "base/clock.h"

namespace kvorum {

class ManualClock final : public Clock {
 public:
  TimePoint Now() const override { return now_; }
  std::int64_t WallNanos() const override { return now_.ns + wall_ahead_.count(); }
  void Advance(Duration d) { now_ = now_ + d; }
  // The time of day is set, by so much; no time passes.
  void JumpWall(Duration d) { wall_ahead_ += d; }

 private:
  TimePoint now_{1'000'000'000};
  Duration wall_ahead_{};
};

}  // namespace kvorum
