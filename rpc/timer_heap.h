// Timers of one loop in a binary heap. Arming, moving and disarming are O(log armed timers) and
// allocate only when the heap grows; a disarmed timer leaves nothing behind, so that a deadline per
// call costs what is in flight, not what was.
//
// Used by one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace kvorum::rpc {

// Must be disarmed before it is destroyed.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void OnTimer() = 0;
  bool armed() const { return position_ != kNowhere; }
  // Meaningful while armed.
  TimePoint when() const { return when_; }

 private:
  friend class TimerHeap;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  TimePoint when_;
  std::size_t position_ = kNowhere;
};

class TimerHeap {
 public:
  void Arm(Timer& timer, TimePoint when);
  void Disarm(Timer& timer);
  std::optional<TimePoint> Earliest() const;
  // Takes out the earliest timer if it is due; null if none is.
  Timer* PopDue(TimePoint now);
  std::size_t size() const { return heap_.size(); }

 private:
  void Place(Timer* timer, std::size_t position);
  void SiftUp(std::size_t position);
  void SiftDown(std::size_t position);

  std::vector<Timer*> heap_;
};

}  // namespace kvorum::rpc
