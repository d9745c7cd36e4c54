#include "tests/sim/world/scheduler.h"

#include <algorithm>
#include <utility>

namespace kvorum::sim {

Duration Scheduler::Between(Duration from, Duration to) {
  const auto range = static_cast<std::uint64_t>((to - from).count()) + 1;
  return from + Duration(static_cast<std::int64_t>(rng_.Below(range)));
}

void Scheduler::At(TimePoint when, Task task) {
  events_.push_back(
      {.when = std::max(when, now_), .number = ++last_number_, .task = std::move(task)});
  std::ranges::push_heap(events_, IsLater);
}

bool Scheduler::Step() {
  if (events_.empty()) return false;
  std::ranges::pop_heap(events_, IsLater);
  Event event = std::move(events_.back());
  events_.pop_back();
  now_ = event.when;
  ++steps_;
  event.task();
  return true;
}

}  // namespace kvorum::sim
