// Timers as values inside a state machine: set, asked whether they are due, never waited for. The
// machine returns the earliest of them from its step (loop.h).
#pragma once

#include "base/clock.h"
#include "sync/kernel/loop.h"

namespace kvorum::sync {

// Is due once.
class Timer {
 public:
  void Set(TimePoint when) { due_ = when; }
  void Clear() { due_ = kNever; }
  bool is_set() const { return due_ != kNever; }
  TimePoint due() const { return due_; }
  // True once when its time has come.
  bool TakeDue(TimePoint now) {
    if (due_ > now) return false;
    due_ = kNever;
    return true;
  }

 private:
  TimePoint due_ = kNever;
};

// Is due at first, first + interval, first + 2 intervals and so on. If several of these times have
// passed since it was last asked, they count once. An interval of zero: due once, at first.
class Ticker {
 public:
  Ticker(TimePoint first, Duration interval) : due_(first), interval_(interval) {}
  TimePoint due() const { return due_; }
  bool TakeDue(TimePoint now) {
    if (due_ > now) return false;
    due_ =
        interval_ > Duration::zero() ? due_ + interval_ * ((now - due_) / interval_ + 1) : kNever;
    return true;
  }

 private:
  TimePoint due_;
  Duration interval_;
};

}  // namespace kvorum::sync
