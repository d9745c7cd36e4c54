// An executor whose time is the test's own: tasks run when the test says so, on its thread. Any
// thread may post.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/task.h"
#include "tests/manual_clock.h"

namespace kvorum::sync {

class ManualExecutor final : public Executor {
 public:
  void Post(Task task) override {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  void PostAt(TimePoint when, Task task) override {
    const std::lock_guard lock(mutex_);
    timed_.emplace(when, std::move(task));
  }
  const Clock& clock() const override { return clock_; }
  TimePoint Now() const { return clock_.Now(); }

  // Runs everything that can run without time going on.
  void Settle() {
    while (Task task = TakeNext()) task();
  }
  // Lets time pass, timer by timer.
  void Advance(Duration d) {
    const TimePoint end = Now() + d;
    Settle();
    while (const std::optional<TimePoint> next = NextTimer()) {
      if (*next > end) break;
      if (*next > Now()) clock_.Advance(*next - Now());
      Settle();
    }
    if (end > Now()) clock_.Advance(end - Now());
  }
  void JumpWall(Duration d) { clock_.JumpWall(d); }
  // Time passes inside a task, as while a slow handler runs.
  void Pass(Duration d) { clock_.Advance(d); }
  std::size_t timers() const {
    const std::lock_guard lock(mutex_);
    return timed_.size();
  }

 private:
  // Empty: nothing is due.
  Task TakeNext() {
    const std::lock_guard lock(mutex_);
    while (!timed_.empty() && timed_.begin()->first <= Now()) {
      queue_.push_back(std::move(timed_.begin()->second));
      timed_.erase(timed_.begin());
    }
    if (queue_.empty()) return nullptr;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    return task;
  }
  std::optional<TimePoint> NextTimer() const {
    const std::lock_guard lock(mutex_);
    if (timed_.empty()) return std::nullopt;
    return timed_.begin()->first;
  }

  ManualClock clock_;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<Task> queue_;
  std::multimap<TimePoint, Task> timed_;
};

}  // namespace kvorum::sync
