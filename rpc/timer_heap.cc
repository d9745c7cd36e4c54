#include "rpc/timer_heap.h"

namespace kvorum::rpc {

void TimerHeap::Place(Timer* timer, std::size_t position) {
  heap_[position] = timer;
  timer->position_ = position;
}

void TimerHeap::SiftUp(std::size_t position) {
  Timer* timer = heap_[position];
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (heap_[parent]->when_ <= timer->when_) break;
    Place(heap_[parent], position);
    position = parent;
  }
  Place(timer, position);
}

void TimerHeap::SiftDown(std::size_t position) {
  Timer* timer = heap_[position];
  while (true) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->when_ < heap_[child]->when_) ++child;
    if (timer->when_ <= heap_[child]->when_) break;
    Place(heap_[child], position);
    position = child;
  }
  Place(timer, position);
}

void TimerHeap::Arm(Timer& timer, TimePoint when) {
  if (!timer.armed()) {
    timer.when_ = when;
    heap_.push_back(&timer);
    SiftUp(heap_.size() - 1);
    return;
  }
  const bool earlier = when < timer.when_;
  timer.when_ = when;
  if (earlier) {
    SiftUp(timer.position_);
  } else {
    SiftDown(timer.position_);
  }
}

void TimerHeap::Disarm(Timer& timer) {
  if (!timer.armed()) return;
  const std::size_t position = timer.position_;
  timer.position_ = Timer::kNowhere;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  Place(last, position);
  SiftUp(position);
  SiftDown(last->position_);
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
