// Executors of simulated machines: lanes of one scheduler that runs, in one thread, one task at a
// time, from a lane that the seed chooses. Time stands still while anything can run, then jumps to
// the next timer.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "base/task.h"
#include "tests/manual_clock.h"

namespace kvorum::server {

class Scheduler {
 public:
  // A task must not destroy a lane.
  class Lane final : public Executor {
   public:
    explicit Lane(Scheduler& scheduler) : scheduler_(scheduler) {
      scheduler_.lanes_.push_back(this);
    }
    // Its remaining tasks never run.
    ~Lane() override {
      std::erase(scheduler_.lanes_, this);
      std::erase_if(scheduler_.timers_, [&](auto& timer) { return timer.second.first == this; });
    }
    void Post(Task task) override { queue_.push_back(std::move(task)); }
    // An idle lane lends itself every second time.
    void Lend(Task task) override {
      if (!queue_.empty() || held_ || scheduler_.rng_.OneIn(2)) return Post(std::move(task));
      task();
    }
    void PostAt(TimePoint when, Task task) override {
      scheduler_.timers_.emplace(when, std::pair(this, std::move(task)));
    }
    const Clock& clock() const override { return scheduler_.clock_; }

   private:
    friend class Scheduler;
    friend class Lanes;
    Scheduler& scheduler_;
    std::deque<Task> queue_;
    bool held_ = false;
  };

  explicit Scheduler(std::uint64_t seed) : rng_(seed) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  ManualClock& clock() { return clock_; }

  // One task, or the jump to the next timer; false if nothing is left at all.
  bool Step() {
    ready_.clear();
    for (Lane* lane : lanes_) {
      if (!lane->queue_.empty() && !lane->held_) ready_.push_back(lane);
    }
    if (!ready_.empty()) {
      Lane& lane = *ready_[rng_.Below(ready_.size())];
      Task task = std::move(lane.queue_.front());
      lane.queue_.pop_front();
      task();
      return true;
    }
    if (timers_.empty()) return false;
    auto timer = timers_.extract(timers_.begin());
    if (timer.key() > clock_.Now()) clock_.Advance(timer.key() - clock_.Now());
    timer.mapped().first->queue_.push_back(std::move(timer.mapped().second));
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
  Rng rng_;
  ManualClock clock_;
  std::vector<Lane*> lanes_;
  std::vector<Lane*> ready_;
  std::multimap<TimePoint, std::pair<Lane*, Task>> timers_;
};

// One machine's. Several may share a scheduler, which outlives them.
class Lanes {
 public:
  explicit Lanes(std::uint64_t seed) : own_(std::make_unique<Scheduler>(seed)), scheduler_(*own_) {
    MakeLanes();
  }
  explicit Lanes(Scheduler& scheduler) : scheduler_(scheduler) { MakeLanes(); }

  Executor& raft() { return *lanes_[0]; }
  Executor& wal() { return *lanes_[1]; }
  Executor& apply() { return *lanes_[2]; }
  Executor& backend() { return *lanes_[3]; }
  Executor& copier() { return *lanes_[4]; }
  Executor& readers() { return *lanes_[5]; }
  Executor& io() { return *lanes_[6]; }  // of a client's connection
  Executor& watch() { return *lanes_[7]; }
  ManualClock& clock() { return scheduler_.clock(); }
  Scheduler& scheduler() { return scheduler_; }

  // A held lane takes tasks and runs none: that executor is busy with something long.
  void Hold(const Executor& lane, bool held) {
    for (auto& candidate : lanes_) {
      if (candidate.get() == &lane) candidate->held_ = held;
    }
  }
  // All of them: the process is stopped (SIGSTOP), while time goes on for the others.
  void HoldAll(bool held) {
    for (auto& lane : lanes_) lane->held_ = held;
  }

  // One step of the scheduler: everything that shares it goes on.
  bool Step() { return scheduler_.Step(); }
  bool RunUntil(const std::function<bool()>& condition, Duration limit = std::chrono::seconds(60)) {
    return scheduler_.RunUntil(condition, limit);
  }
  void RunFor(Duration duration) { scheduler_.RunFor(duration); }

 private:
  void MakeLanes() {
    for (auto& lane : lanes_) lane = std::make_unique<Scheduler::Lane>(scheduler_);
  }

  std::unique_ptr<Scheduler> own_;
  Scheduler& scheduler_;
  std::array<std::unique_ptr<Scheduler::Lane>, 8> lanes_;
};

}  // namespace kvorum::server
