// The clocks of one simulated machine: a monotonic one that runs faster or slower than true time
// and starts anew at each boot, and a wall clock that also jumps.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "tests/sim/scheduler.h"

namespace kvorum::sim {

class DriftingClock final : public Clock {
 public:
  explicit DriftingClock(const Scheduler& scheduler)
      : scheduler_(scheduler), true_anchor_(scheduler.Now()), local_anchor_(scheduler.Now()) {}

  TimePoint Now() const override {
    return local_anchor_ + Scaled(scheduler_.Now() - true_anchor_, rate_ppm_, kExact);
  }
  std::int64_t WallNanos() const override {
    return kEpochNanos + scheduler_.Now().ns + wall_offset_.count();
  }

  // When this clock will show `local`, if it goes on as it does now, or a moment later.
  TimePoint TrueTime(TimePoint local) const {
    constexpr Duration kRounding{4};
    return true_anchor_ + Scaled(local - local_anchor_, kExact, rate_ppm_) + kRounding;
  }
  // Parts per million of true time: 1,000,000 is exact.
  void SetRate(std::int64_t rate_ppm) {
    local_anchor_ = Now();
    true_anchor_ = scheduler_.Now();
    rate_ppm_ = rate_ppm;
  }
  void JumpWall(Duration by) { wall_offset_ += by; }
  // The monotonic clock begins somewhere else.
  void Boot(Duration uptime) {
    true_anchor_ = scheduler_.Now();
    local_anchor_ = TimePoint{1} + uptime;
  }

  static constexpr std::int64_t kExact = 1'000'000;

 private:
  static constexpr std::int64_t kEpochNanos = 1'800'000'000'000'000'000;

  static Duration Scaled(Duration duration, std::int64_t by, std::int64_t per) {
    // Seconds and rest apart, so that nothing overflows in a run of any length.
    const std::int64_t ns = duration.count();
    return Duration(ns / per * by + ns % per * by / per);
  }

  const Scheduler& scheduler_;
  TimePoint true_anchor_;
  TimePoint local_anchor_;
  std::int64_t rate_ppm_ = kExact;
  Duration wall_offset_{};
};

}  // namespace kvorum::sim
