// Checks whether clients' answers with auth enabled are right at some place of the log that their
// request can have met: an answered caller was allowed to, with a token that was still valid, in
// the very state that the answer shows; a refused one was not, or need not have been known.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/sim/clients/passwords.h"
#include "tests/sim/judges/auth_model.h"
#include "tests/sim/judges/log_model.h"
#include "tests/sim/world/machine.h"
#include "tests/sim/world/world.h"

namespace kvorum::sim {

// The permissions that a request needs.
struct Needs {
  std::vector<KeyNeed> keys = {};
  std::int64_t lease = 0;     // all of its keys are written
  bool root = false;          // or this
  bool serializable = false;  // it may see the member's state, however old
};

class AuthJudge {
 public:
  // About one request.
  struct Asked {
    std::string user;
    std::string token;
    Machine* machine = nullptr;
    raft::Index committed = 0;  // by anybody, when it was asked
    std::uint64_t life = 0;     // of the machine, when its process took it
    raft::Index applied = 0;    // there, by then
    TimePoint taken{};
  };

  AuthJudge(World& world, const LogModel& log, Passwords& passwords)
      : world_(world), log_(log), passwords_(passwords) {}

  Asked Ask(const std::string& user, const std::string& token, Machine& machine) const;
  void Taken(Asked& asked) const;

  // A read that shows this revision, or a write that made it or found nothing to do at it.
  void Answered(const Asked& asked, const Needs& needs, std::int64_t revision);
  // It need not hold at one place of the log together with the content of the answer.
  void LetIn(const Asked& asked, const Needs& needs);
  void Refused(const Asked& asked, const Needs& needs, const Error& error);
  void LoggedIn(const Asked& asked, const std::string& password, const std::string& token);
  void LoginRefused(const Asked& asked, const std::string& password, const Error& error);

  bool IsAllowedNow(const std::string& user, const Needs& needs) const {
    return log_.newest().MayAll(user, needs.keys);
  }

  // Errors that say for certain that nothing was done.
  static bool IsRefusal(const Error& error);
  // The refusals that a login cures.
  static bool IsStranger(const Error& error);

 private:
  bool IsAllowed(const Asked& asked, const Needs& needs, raft::Index index) const;
  raft::Index Lower(const Asked& asked, const Needs& needs) const;
  template <class Condition>
  bool IsAnywhere(raft::Index from, Condition&& condition) const;
  bool Fits(const std::string& user, const std::string& password, raft::Index index) const;
  std::string Describe(const Asked& asked, const Needs& needs) const;

  World& world_;
  const LogModel& log_;
  Passwords& passwords_;
};

}  // namespace kvorum::sim
