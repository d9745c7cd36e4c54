// Executors of one thread and one clock, run by hand: the test decides the order of events, and
// nothing happens by itself.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/task.h"
#include "tests/manual_clock.h"

namespace kvorum {

class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(ManualClock& clock) : clock_(clock) {}

  void Post(Task task) override { ready_.push_back(std::move(task)); }
  void PostAt(TimePoint when, Task task) override { timed_.emplace(when, std::move(task)); }
  const Clock& clock() const override { return clock_; }
  // Unless set to lend, it takes the task like any other.
  void Lend(Task task) override { lends_&& ready_.empty() ? task() : Post(std::move(task)); }
  void SetLends(bool lends) { lends_ = lends; }

  // Runs the oldest due task; false if there is none.
  bool RunOne() {
    while (!timed_.empty() && timed_.begin()->first <= clock_.Now()) {
      ready_.push_back(std::move(timed_.begin()->second));
      timed_.erase(timed_.begin());
    }
    if (ready_.empty()) return false;
    Task task = std::move(ready_.front());
    ready_.pop_front();
    task();
    return true;
  }
  bool HasTimed() const { return !timed_.empty(); }
  TimePoint NextTime() const { return timed_.begin()->first; }

 private:
  ManualClock& clock_;
  bool lends_ = false;
  std::deque<Task> ready_;
  std::multimap<TimePoint, Task> timed_;
};

// The three executors of a store.
class ManualExecutors {
 public:
  ManualClock clock;
  ManualExecutor apply{clock};
  ManualExecutor backend{clock};
  ManualExecutor copier{clock};

  // Runs due tasks on all of them, until there are none.
  void RunReady() {
    while (apply.RunOne() || backend.RunOne() || copier.RunOne()) {
    }
  }
  // Runs one task of a random executor; false if none has one.
  bool RunOneOf(Rng& rng) {
    ManualExecutor* all[] = {&apply, &backend, &copier};
    const std::size_t first = rng.Below(3);
    for (std::size_t i = 0; i < 3; ++i) {
      if (all[(first + i) % 3]->RunOne()) return true;
    }
    return false;
  }
  // Runs everything, letting the time pass that it waits for.
  void RunAll() {
    for (int rounds = 0; rounds < 1'000'000; ++rounds) {
      RunReady();
      ManualExecutor* next = nullptr;
      for (ManualExecutor* executor : {&apply, &backend, &copier}) {
        if (executor->HasTimed() && (!next || executor->NextTime() < next->NextTime())) {
          next = executor;
        }
      }
      if (next == nullptr) return;
      clock.Advance(next->NextTime() - clock.Now());
    }
    KV_CHECK(false, "the executors never come to rest");
  }
};

}  // namespace kvorum
