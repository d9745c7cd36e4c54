// The user that the simulated programs of a run are, in a run with auth: logged in once for all of
// them, one attempt at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/sim/clients/users.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class ProgramUser {
 public:
  ProgramUser(World& world, std::vector<std::unique_ptr<Machine>>& machines, Users& users)
      : world_(world),
        machines_(machines),
        users_(users),
        session_(users.New(world.has_auth ? Users::kRoot : "")) {}

  const std::string& token() const { return session_.token; }
  // Calls `then` with a token, or without one where none is needed or to be had.
  void Ready(std::function<void()> then) {
    if (!world_.has_auth || !session_.needs_login) return then();
    waiting_.push_back(std::move(then));
    if (waiting_.size() == 1) LogIn(kTries);
  }
  // From here on logs in at one of the members that `live` tells.
  void Settle(std::function<std::vector<Machine*>()> live) { live_ = std::move(live); }
  // A call with the token has failed.
  void Told(const std::string& token, const Error& error) {
    if (token == session_.token) users_.Told(session_, error);
  }

 private:
  // It is unknown which password is the newest, or which member takes it.
  static constexpr int kTries = 100;

  void LogIn(int tries) {
    users_.Ready(session_, Choose(), [this, tries] {
      if (session_.needs_login && tries > 1) return LogIn(tries - 1);
      for (const auto& then : std::exchange(waiting_, {})) then();
    });
  }

  Machine& Choose() {
    const std::vector<Machine*> live = live_ ? live_() : std::vector<Machine*>();
    Rng& rng = world_.scheduler.rng();
    return live.empty() ? *machines_[rng.Below(machines_.size())] : *live[rng.Below(live.size())];
  }

  World& world_;
  std::vector<std::unique_ptr<Machine>>& machines_;
  Users& users_;
  Users::Session& session_;
  std::vector<std::function<void()>> waiting_;
  std::function<std::vector<Machine*>()> live_;  // empty until the end
};

}  // namespace kvorum::sim
