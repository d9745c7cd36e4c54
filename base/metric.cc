#include "base/metric.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvorum {

std::vector<double> DoublingBounds(double first, std::size_t count) {
  std::vector<double> bounds;
  for (double bound = first; bounds.size() < count; bound *= 2) bounds.push_back(bound);
  return bounds;
}

Histogram::Histogram(std::vector<double> bounds, std::uint64_t ticks_per_unit)
    : bounds_(std::move(bounds)), ticks_per_unit_(ticks_per_unit), cells_(bounds_.size() + 2) {
  for (const double bound : bounds_) {
    tick_bounds_.push_back(
        static_cast<std::uint64_t>(std::llround(bound * static_cast<double>(ticks_per_unit))));
  }
}

void Histogram::Observe(std::uint64_t ticks, std::uint64_t times) {
  const auto bucket = std::ranges::lower_bound(tick_bounds_, ticks) - tick_bounds_.begin();
  ThreadCells::Mine mine = cells_.Here();
  mine.Add(static_cast<std::size_t>(bucket), times);
  mine.Add(bounds_.size() + 1, ticks * times);
}

HistogramValues Histogram::values() const {
  HistogramValues values{.bounds = bounds_, .counts = {}, .sum = 0};
  for (std::size_t bucket = 0; bucket <= bounds_.size(); ++bucket)
    values.counts.push_back(cells_.Sum(bucket));
  values.sum =
      static_cast<double>(cells_.Sum(bounds_.size() + 1)) / static_cast<double>(ticks_per_unit_);
  return values;
}

}  // namespace kvorum
