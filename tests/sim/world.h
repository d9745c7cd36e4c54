// What all parts of one run share: its options, its time and choices, its trace, what was counted,
// and what was found wrong first.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "tests/sim/drifting_clock.h"
#include "tests/sim/fault_counters.h"
#include "tests/sim/scheduler.h"
#include "tests/sim/trace.h"

namespace kvorum::sim {

// A deliberate flaw that needs no change of the code, so that the tests show with each build that
// the checks find something (docs/simulation.md has more of them).
enum class Flaw : std::uint8_t {
  kNone,
  kUnsyncedLog,  // acknowledges before the sync (--unsafe-no-fsync)
  kLeaseReads,   // trusts the clocks instead of asking a quorum
};

struct Options {
  std::uint64_t seed = 1;
  std::size_t members = 3;
  std::uint64_t seconds = 60;  // of the safety phase
  Flaw flaw = Flaw::kNone;
  std::FILE* trace_file = nullptr;
  bool keep_trace = false;
};

struct World {
  explicit World(const Options& run)
      : options(run),
        scheduler(run.seed),
        trace(run.trace_file, run.keep_trace),
        fastest_clock(scheduler) {}

  template <class... Args>
  void Note(fmt::format_string<Args...> format, Args&&... args) {
    trace.Add(scheduler.Now(), format, std::forward<Args>(args)...);
  }
  // The first thing that is wrong ends the run.
  template <class... Args>
  void Fail(fmt::format_string<Args...> format, Args&&... args) {
    if (failure.has_value()) return;
    failure = fmt::format(format, std::forward<Args>(args)...);
    Note("FAILED: {}", *failure);
  }
  bool failed() const { return failure.has_value(); }

  const Options options;
  Scheduler scheduler;
  Trace trace;
  FaultCounters faults;
  FastestClock fastest_clock;
  std::optional<std::string> failure;
};

}  // namespace kvorum::sim
