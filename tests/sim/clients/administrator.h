// The administrator of the users: sets them up, turns auth on, and from then on changes users,
// roles and permissions at random, at any member, in the middle of everything else. Now and then a
// user without the right tries too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/clients/users.h"
#include "tests/sim/judges/auth_judge.h"
#include "tests/sim/judges/log_model.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Administrator {
 public:
  Administrator(World& world, std::vector<std::unique_ptr<Machine>>& machines, const LogModel& log,
                AuthJudge& judge, Users& users);

  // Nothing in a run without auth.
  void Start();
  void Stop() { stopped_ = true; }

 private:
  struct Change {
    std::string method;
    std::string request;
  };

  void SetUp(std::size_t step);
  void GoOn();
  Change RandomChange();
  // `done` gets whether the change is in effect: made, or found made already.
  void Ask(Users::Session& session, const Change& change, std::function<void(bool done)> done);
  Machine& AnyMachine() { return *machines_[world_.auth_rng.Below(machines_.size())]; }

  Change AddUser(const std::string& name);
  Change ChangePassword(const std::string& name);
  Change GrantPermission(const std::string& role);
  Change RevokePermission();
  std::string AnyRole();
  std::string AnyUser() { return Users::NameOf(world_.auth_rng.Below(Users::kOthers)); }

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  const LogModel& log_;
  AuthJudge& judge_;
  Users& users_;
  Users::Session& root_;
  Users::Session& stranger_;
  std::vector<Change> first_;
  Duration most_thinking_{};
  std::size_t at_ = 0;
  bool stopped_ = false;
};

}  // namespace kvorum::sim
