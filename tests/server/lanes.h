// Executors of one simulated machine: lanes of one scheduler that runs, in one thread, one task at
// a time, of a lane that the seed chooses. Time stands still while anything can run, then jumps to
// the next timer.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/rng.h"

namespace kvorum::server {

class Lanes {
 public:
  explicit Lanes(std::uint64_t seed) : rng_(seed) {
    for (auto& lane : lanes_) lane = std::make_unique<Lane>(*this);
  }

  Executor& raft() { return *lanes_[0]; }
  Executor& wal() { return *lanes_[1]; }
  Executor& apply() { return *lanes_[2]; }
  Executor& backend() { return *lanes_[3]; }
  Executor& copier() { return *lanes_[4]; }
  Executor& readers() { return *lanes_[5]; }
  Executor& io() { return *lanes_[6]; }  // of a client's connection
  ManualClock& clock() { return clock_; }

  // A held lane takes tasks and runs none: that executor is busy with something long.
  void Hold(const Executor& lane, bool held) {
    for (auto& candidate : lanes_) {
      if (candidate.get() == &lane) candidate->held = held;
    }
  }

  // One task, or the jump to the next timer; false if nothing is left at all.
  bool Step() {
    std::vector<Lane*> ready;
    for (auto& lane : lanes_) {
      if (!lane->queue.empty() && !lane->held) ready.push_back(lane.get());
    }
    if (!ready.empty()) {
      Lane& lane = *ready[rng_.Below(ready.size())];
      Task task = std::move(lane.queue.front());
      lane.queue.pop_front();
      task();
      return true;
    }
    if (timers_.empty()) return false;
    auto timer = timers_.extract(timers_.begin());
    if (timer.key() > clock_.Now()) clock_.Advance(timer.key() - clock_.Now());
    timer.mapped().first->queue.push_back(std::move(timer.mapped().second));
    return true;
  }
  // Steps until the condition holds; false if that takes longer than `limit` of simulated time.
  bool RunUntil(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(60)) {
    const TimePoint end = clock_.Now() + limit;
    while (!condition()) {
      if (clock_.Now() > end || !Step()) return false;
    }
    return true;
  }
  void RunFor(Duration duration) {
    const TimePoint end = clock_.Now() + duration;
    RunUntil([&] { return clock_.Now() >= end; }, duration + std::chrono::hours(1));
  }

 private:
  struct Lane final : Executor {
    explicit Lane(Lanes& lanes) : owner(lanes) {}
    void Post(Task task) override { queue.push_back(std::move(task)); }
    void PostAt(TimePoint when, Task task) override {
      owner.timers_.emplace(when, std::pair(this, std::move(task)));
    }
    const Clock& clock() const override { return owner.clock_; }
    Lanes& owner;
    std::deque<Task> queue;
    bool held = false;
  };

  Rng rng_;
  ManualClock clock_;
  std::array<std::unique_ptr<Lane>, 7> lanes_;
  std::multimap<TimePoint, std::pair<Lane*, Task>> timers_;
};

}  // namespace kvorum::server
