// The member that one simulated program talks to.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/sim/clients/sim_store.h"
#include "tests/sim/program_user.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

struct SimStore::Connection {
  Connection(World& of_world, std::vector<std::unique_ptr<Machine>>& of_machines,
             ProgramUser& of_user, Options of_options)
      : world(of_world), machines(of_machines), user(of_user), options(std::move(of_options)) {
    Move();
  }

  // To any member, the same too.
  void Move() { machine = machines[world.scheduler.rng().Below(machines.size())].get(); }
  void Failed(const std::string& token, const Error& error) {
    user.Told(token, error);
    if (error.code != Code::kNotFound && error.code != Code::kOutOfRange) Move();
  }

  World& world;
  std::vector<std::unique_ptr<Machine>>& machines;
  ProgramUser& user;
  const Options options;
  Machine* machine = nullptr;
  bool is_closed = false;  // its program has ended
};

}  // namespace kvorum::sim
