// The simulation's one thread: everything on any simulated machine is an event of this queue, in
// the order of simulated time, and among equal times in the order of scheduling. Time jumps from
// one event to the next.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "base/task.h"

namespace kvorum::sim {

class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed) : rng_(seed) {}

  // True time, which no member sees (drifting_clock.h).
  TimePoint Now() const { return now_; }
  // The source of every choice of a run.
  Rng& rng() { return rng_; }
  // Uniform in [from, to].
  Duration Between(Duration from, Duration to);
  // True with the probability permille / 1000.
  bool Chance(std::uint64_t permille) { return rng_.Below(1000) < permille; }

  void At(TimePoint when, Task task);
  void After(Duration delay, Task task) { At(now_ + delay, std::move(task)); }
  // Runs the next event; false if there is none.
  bool Step();
  std::uint64_t steps() const { return steps_; }

 private:
  struct Event {
    TimePoint when;
    std::uint64_t number = 0;
    Task task;
  };
  static bool IsLater(const Event& a, const Event& b) {
    return a.when != b.when ? a.when > b.when : a.number > b.number;
  }

  Rng rng_;
  TimePoint now_{1'000'000'000};
  std::uint64_t last_number_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Event> events_;  // a heap, the next one in services
};

}  // namespace kvorum::sim
