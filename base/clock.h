// Time, behind an interface: production reads the machine's clocks, tests and the simulation set
// their own.
#pragma once

#include <chrono>
#include <cstdint>

namespace kvorum {

using Duration = std::chrono::nanoseconds;

// A point on the monotonic clock, unrelated to the time of day.
struct TimePoint {
  std::int64_t ns = 0;
  friend auto operator<=>(const TimePoint&, const TimePoint&) = default;
  friend TimePoint operator+(TimePoint t, Duration d) { return {t.ns + d.count()}; }
  friend TimePoint operator-(TimePoint t, Duration d) { return {t.ns - d.count()}; }
  friend Duration operator-(TimePoint a, TimePoint b) { return Duration(a.ns - b.ns); }
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back; for time-outs, leases and latencies.
  virtual TimePoint Now() const = 0;
  // Nanoseconds since the Unix epoch, which may go back: for log lines, ids, and what outlives the
  // process.
  virtual std::int64_t WallNanos() const = 0;
  std::int64_t WallSeconds() const { return WallNanos() / 1'000'000'000; }
};

// The machine's own clocks.
Clock& SystemClock();

}  // namespace kvorum
