// An executor of one simulated process: its tasks run one at a time, in the order they were posted,
// each a random moment after the previous one, as long as this kind of thread takes. A held lane
// accepts tasks and runs none: its thread is busy with something long, or the process is paused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "base/task.h"
#include "tests/sim/world/drifting_clock.h"
#include "tests/sim/world/scheduler.h"

namespace kvorum::sim {

class Lane final : public Executor, public std::enable_shared_from_this<Lane> {
 public:
  struct Options {
    Duration least;    // that a task takes
    Duration most;     // that it takes as a rule
    Duration stalled;  // now and then: up to this
  };
  // `after` runs behind each task; it may end the process.
  Lane(Scheduler& scheduler, const DriftingClock& clock, Options options,
       std::function<void()> after)
      : scheduler_(scheduler), clock_(clock), options_(options), after_(std::move(after)) {}

  void Post(Task task) override;
  // Runs a task within the caller's, if the lane rests and lends.
  void Lend(Task task) override;
  // From now on. The judges look at a machine behind each task: `before` and `after` are called
  // around one that is lent, and must not end the process, since the lender's task goes on.
  void StartLending(std::function<void()> before, std::function<void()> after);
  void PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return clock_; }

  // No task begins before this moment (true time).
  void HoldUntil(TimePoint until);
  std::size_t waiting() const { return queue_.size(); }
  // The thread is gone: tasks are dropped, and those to come.
  void Stop();

 private:
  // Kept here, so that it goes with the thread.
  struct Timer {
    TimePoint when{};
    Task task;
  };

  void Arm();
  void RunNext();
  void ArmTimer(std::uint64_t number, TimePoint when);
  void OnTimer(std::uint64_t number);

  Scheduler& scheduler_;
  const DriftingClock& clock_;
  const Options options_;
  const std::function<void()> after_;
  std::function<void()> before_lent_;
  std::function<void()> after_lent_;
  std::deque<Task> queue_;
  std::map<std::uint64_t, Timer> timers_;
  std::uint64_t last_timer_ = 0;
  bool armed_ = false;
  bool running_ = false;
  bool stopped_ = false;
  TimePoint held_until_{};
};

}  // namespace kvorum::sim
