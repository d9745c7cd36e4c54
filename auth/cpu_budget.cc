#include "auth/cpu_budget.h"

#include <algorithm>

namespace kvorum::auth {
namespace {

constexpr Duration kLeastWait = std::chrono::milliseconds(1);
constexpr Duration kLongestWait = std::chrono::hours(1);

}  // namespace

Duration CpuBudget::LevelAt(TimePoint now) const {
  const Duration passed = std::clamp(now - at_, Duration{}, kLongestWait);
  const Duration gained(
      static_cast<Duration::rep>(options_.share * static_cast<double>(passed.count())));
  return std::min(level_ + gained, options_.burst);
}

Duration CpuBudget::UntilOpen(TimePoint now) const {
  const Duration level = LevelAt(now);
  if (level > Duration{}) return {};
  if (options_.burst <= Duration{} || options_.share <= 0) return kLongestWait;
  const double missing_ns = static_cast<double>(1 - level.count()) / options_.share;
  if (missing_ns >= static_cast<double>(kLongestWait.count())) return kLongestWait;
  return std::max(kLeastWait, Duration(static_cast<Duration::rep>(missing_ns)));
}

void CpuBudget::Spend(Duration cpu, TimePoint now) {
  level_ = LevelAt(now) - cpu;
  at_ = now;
}

}  // namespace kvorum::auth
