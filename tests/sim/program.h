// A simulated process that embeds sync/: its clock, its threads, and its way to the cluster. It
// ends when it is destroyed, at any point of its work; what it made is destroyed before it.
#pragma once

#include <memory>
#include <vector>

#include "tests/sim/clients/sim_store.h"
#include "tests/sim/program_user.h"
#include "tests/sim/world/drifting_clock.h"
#include "tests/sim/world/lane.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Program {
 public:
  Program(World& world, std::vector<std::unique_ptr<Machine>>& machines, ProgramUser& user,
          SimStore::Options options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  SimStore& store() { return store_; }
  Lane& lane() { return *lane_; }
  // The handlers of its user run there, and may take their time.
  Lane& handlers() { return *handlers_; }
  // Pauses it until then.
  void PauseUntil(TimePoint until);

 private:
  DriftingClock clock_;
  const std::shared_ptr<Lane> lane_;
  const std::shared_ptr<Lane> handlers_;
  SimStore store_;
};

}  // namespace kvorum::sim
