// The clocks of one simulated machine: a monotonic one that runs faster or slower than true time
// and starts anew at each boot, and a wall clock that also jumps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "tests/sim/world/scheduler.h"

namespace kvorum::sim {

// `by` / `per` of a duration.
inline Duration Scaled(Duration duration, std::int64_t by, std::int64_t per) {
  // Seconds and rest apart, so that nothing overflows in a run of any length.
  const std::int64_t ns = duration.count();
  return Duration(ns / per * by + ns % per * by / per);
}

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

  const Scheduler& scheduler_;
  TimePoint true_anchor_;
  TimePoint local_anchor_;
  std::int64_t rate_ppm_ = kExact;
  Duration wall_offset_{};
};

// The time counted by the fastest clock at each moment, true time included: a measurement by any of
// the machines' clocks, or by several in turn, never shows more time than this.
class FastestClock {
 public:
  explicit FastestClock(const Scheduler& scheduler)
      : scheduler_(scheduler), anchor_(scheduler.Now()) {}

  Duration Elapsed() const {
    return elapsed_ + Scaled(scheduler_.Now() - anchor_, fastest_ppm_, DriftingClock::kExact);
  }
  void SetRate(std::size_t machine, std::int64_t rate_ppm) {
    elapsed_ = Elapsed();
    anchor_ = scheduler_.Now();
    if (rates_ppm_.size() <= machine) rates_ppm_.resize(machine + 1, DriftingClock::kExact);
    rates_ppm_[machine] = rate_ppm;
    fastest_ppm_ = std::max(DriftingClock::kExact, *std::ranges::max_element(rates_ppm_));
  }

 private:
  const Scheduler& scheduler_;
  TimePoint anchor_;
  Duration elapsed_{};
  std::vector<std::int64_t> rates_ppm_;
  std::int64_t fastest_ppm_ = DriftingClock::kExact;
};

}  // namespace kvorum::sim
