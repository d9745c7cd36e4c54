// The simulated clients' users in a run with auth: users with passwords, who log in at some member
// and use the token that they get until it is refused.
#pragma once

#include <fmt/core.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/sim/judges/auth_judge.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

class Users {
 public:
  static constexpr const char* kRoot = "root";
  static constexpr std::uint64_t kOthers = 3;

  struct Session {
    std::string user = {};
    std::string token = {};
    bool needs_login = true;
  };

  Users(World& world, AuthJudge& judge) : world_(world), judge_(judge) {}

  // Permanent. In a run without auth: of no user.
  Session& New(std::string user);
  Session& NewOfAnybody() { return New(Anybody()); }
  std::string Anybody();
  static std::string NameOf(std::uint64_t number) { return "u" + std::to_string(number + 1); }
  // Changes to another user, who has not logged in.
  void Become(Session& session, std::string user);
  // Logs in if that is to be done, at this member; then `then`, with a token or without one.
  void Ready(Session& session, Machine& machine, std::function<void()> then);
  // A request of the session has failed.
  void Told(Session& session, const Error& error);

  // The administrator would have this be the user's password.
  void SetPassword(const std::string& user, const std::string& password);
  std::string NewPassword() { return fmt::format("secret {}", ++passwords_made_); }

 private:
  // The password that the user remembers.
  std::string PasswordOf(const std::string& user);

  World& world_;
  AuthJudge& judge_;
  std::deque<Session> sessions_;
  std::map<std::string, std::vector<std::string>> passwords_;  // the newest last
  std::uint64_t passwords_made_ = 0;
};

}  // namespace kvorum::sim
