// One run: a cluster of whole replicas, its clients, its faults, and its judges, all from one seed.
//
// First the safety phase, in which anything may fail: nothing wrong may be answered. Then the
// liveness phase: the faults stop, a majority of the members (or all) is healed, and within a
// bounded time there must be a leader, every member must take writes and answer linearizable reads,
// and all must hold the same. Then the whole history is judged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/clients/clients.h"
#include "tests/sim/judges/oracle.h"
#include "tests/sim/nemesis.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/network.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

struct Report {
  std::optional<std::string> failure;
  std::string tail;  // of the trace, if it failed
  FaultCounters faults;
  std::uint64_t digest = 0;  // of the trace
  std::uint64_t trace_lines = 0;
  std::string trace;   // with Options::keep_trace
  double seconds = 0;  // simulated
  std::uint64_t steps = 0;
  std::uint64_t operations = 0;
  std::uint64_t answered = 0;
  std::uint64_t elections = 0;
  std::int64_t revisions = 0;
  std::uint64_t unseen_revisions = 0;
  std::uint64_t found = 0;   // members with a spoiled record
  std::uint64_t mended = 0;  // and re-seeded
};

// The default size of the cluster: mostly 3, for one seed in four 5.
std::size_t MembersOf(std::uint64_t seed);

Report RunSimulation(const Options& options);

// The command that runs it again.
std::string ReplayCommand(const Options& options);

// For a report of the current run, when the process is about to abort. Empty if there is none.
std::string RunningTail();

}  // namespace kvorum::sim
