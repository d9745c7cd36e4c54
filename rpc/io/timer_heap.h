// The timers of one loop in a binary heap. Arming, moving and disarming are O(log armed timers) and
// allocate only when the heap grows. A disarmed timer leaves nothing behind, so that the cost of a
// deadline per call depends on the calls in flight, not on past ones.
//
// Used by one thread.
#pragma once

#include <cstddef>
#include <optional>

#include "base/clock.h"
#include "base/indexed_heap.h"

namespace kvorum::rpc {

// Must be disarmed before it is destroyed.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void OnTimer() = 0;
  bool armed() const { return place_ != kNotInHeap; }
  // Meaningful while armed.
  TimePoint when() const { return when_; }

 private:
  friend class TimerHeap;
  TimePoint when_;
  HeapPlace place_ = kNotInHeap;
};

class TimerHeap {
 public:
  void Arm(Timer& timer, TimePoint when);
  void Disarm(Timer& timer);
  std::optional<TimePoint> Earliest() const;
  // Removes and returns the earliest timer if it is due; null if none is.
  Timer* PopDue(TimePoint now);
  std::size_t size() const { return heap_.size(); }

 private:
  struct ByTime {
    static bool IsBefore(const Timer* a, const Timer* b) { return a->when_ < b->when_; }
    static HeapPlace& PlaceOf(Timer* timer) { return timer->place_; }
  };
  IndexedHeap<Timer*, ByTime> heap_;
};

}  // namespace kvorum::rpc
