// Numbers that code keeps about itself for the metrics. They have no names: the owner of one knows
// nothing of metrics; the registry's tables (server/metrics) give it a name, and read it when
// somebody asks.
//
// Thread-safe. Cost of an addition: that of ThreadCells, once for a Counter, twice for a Histogram.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/thread_cells.h"

namespace kvorum {

class Counter {
 public:
  void Add(std::uint64_t n = 1) { cells_.Add(0, n); }
  std::uint64_t value() const { return cells_.Sum(0); }

 private:
  ThreadCells cells_{1};
};

// Upper bounds of buckets: `first`, then each twice the one before.
std::vector<double> DoublingBounds(double first, std::size_t count);

// The values of a histogram that are exported.
struct HistogramValues {
  std::vector<double> bounds;
  std::vector<std::uint64_t> counts;  // of each bucket alone; the last is of values past all bounds
  double sum = 0;
};

// Counts observed values by size. A value is a number of ticks, the bounds are in units of as many
// ticks each: durations are in nanoseconds, most bounds in seconds.
class Histogram {
 public:
  static constexpr std::uint64_t kSeconds = 1'000'000'000;
  static constexpr std::uint64_t kMilliseconds = 1'000'000;

  explicit Histogram(std::vector<double> bounds, std::uint64_t ticks_per_unit = kSeconds);

  void Observe(Duration duration) {
    Observe(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count()));
  }
  // `times` values of this size.
  void Observe(std::uint64_t ticks, std::uint64_t times = 1);
  HistogramValues values() const;

 private:
  const std::vector<double> bounds_;
  const std::uint64_t ticks_per_unit_;
  std::vector<std::uint64_t> tick_bounds_;
  ThreadCells cells_;  // the buckets, then the sum of ticks
};

// Observes the time until its end.
class ObservedTime {
 public:
  ObservedTime(Histogram& histogram, const Clock& clock)
      : histogram_(histogram), clock_(clock), start_(clock.Now()) {}
  ~ObservedTime() { histogram_.Observe(clock_.Now() - start_); }
  ObservedTime(const ObservedTime&) = delete;
  ObservedTime& operator=(const ObservedTime&) = delete;

 private:
  Histogram& histogram_;
  const Clock& clock_;
  const TimePoint start_;
};

}  // namespace kvorum
