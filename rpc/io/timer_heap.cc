#include "rpc/io/timer_heap.h"

namespace kvorum::rpc {

void TimerHeap::Arm(Timer& timer, TimePoint when) {
  timer.when_ = when;
  timer.armed() ? heap_.Replace(timer.place_, &timer) : heap_.Push(&timer);
}

void TimerHeap::Disarm(Timer& timer) {
  if (timer.armed()) heap_.Erase(timer.place_);
}

std::optional<TimePoint> TimerHeap::Earliest() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->when_;
}

Timer* TimerHeap::PopDue(TimePoint now) {
  if (heap_.empty() || heap_.front()->when_ > now) return nullptr;
  Timer* timer = heap_.front();
  Disarm(*timer);
  return timer;
}

}  // namespace kvorum::rpc
