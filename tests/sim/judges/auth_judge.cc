#include "tests/sim/judges/auth_judge.h"

#include <fmt/core.h>

#include <algorithm>

#include "auth/password.h"

namespace kvorum::sim {
namespace {

constexpr std::string_view kDenied = "etcdserver: permission denied";
constexpr std::string_view kNoUser = "etcdserver: user name is empty";
constexpr std::string_view kUnknownUser = "etcdserver: user name not found";
constexpr std::string_view kBadToken = "etcdserver: invalid auth token";
constexpr std::string_view kOldRevision = "etcdserver: revision of auth store is old";
constexpr std::string_view kLoginFailed =
    "etcdserver: authentication failed, invalid user ID or password";
constexpr std::string_view kNoPassword =
    "auth: authentication failed, password was given for no password user";
constexpr std::string_view kIsOff = "etcdserver: authentication is not enabled";

}  // namespace

bool AuthJudge::IsRefusal(const Error& error) {
  return error.message == kDenied || error.message == kUnknownUser ||
         error.message == kOldRevision || IsStranger(error);
}

bool AuthJudge::IsStranger(const Error& error) {
  return error.message == kNoUser || error.message == kBadToken;
}

AuthJudge::Asked AuthJudge::Ask(const std::string& user, const std::string& token,
                                Machine& machine) const {
  return {.user = user, .token = token, .machine = &machine, .committed = log_.last()};
}

void AuthJudge::Taken(Asked& asked) const {
  asked.life = asked.machine->life();
  asked.applied = asked.machine->local_member().replica().applied_index();
  asked.taken = world_.scheduler.Now();
}

template <class Condition>
bool AuthJudge::IsAnywhere(raft::Index from, Condition&& condition) const {
  for (raft::Index index = from; index <= log_.last(); ++index) {
    if (condition(index)) return true;
  }
  return false;
}

bool AuthJudge::IsAllowed(const Asked& asked, const Needs& needs, raft::Index index) const {
  const AuthModel& auth = log_.AuthAt(index);
  if (!auth.enabled()) return true;
  if (!log_.IsTokenGood(asked.token, asked.user, index)) return false;
  if (auth.MayAdminister(asked.user)) return true;
  if (needs.root || !auth.MayAll(asked.user, needs.keys)) return false;
  return std::ranges::all_of(log_.KeysOf(needs.lease, index), [&](const std::string& key) {
    return auth.May(asked.user, {.writes = true, .key = key});
  });
}

raft::Index AuthJudge::Lower(const Asked& asked, const Needs& needs) const {
  return needs.serializable ? std::min(asked.applied, asked.committed) : asked.committed;
}

std::string AuthJudge::Describe(const Asked& asked, const Needs& needs) const {
  std::string text = fmt::format("{} ({}) at {} from index {} to {}:", asked.user,
                                 asked.token.empty() ? "not logged in" : asked.token,
                                 asked.machine->name(), Lower(asked, needs), log_.last());
  for (const KeyNeed& need : needs.keys) {
    text += fmt::format(" {} {} to {}", need.writes ? "write" : "read", need.key,
                        need.range_end == std::string(1, '\0') ? "the end" : need.range_end);
  }
  if (needs.lease != 0) text += fmt::format(" lease {:x}", needs.lease);
  if (needs.root) text += " root's";
  return text;
}

void AuthJudge::Answered(const Asked& asked, const Needs& needs, std::int64_t revision) {
  const bool allowed = IsAnywhere(Lower(asked, needs), [&](raft::Index index) {
    return log_.RevisionAt(index) == revision && IsAllowed(asked, needs, index);
  });
  if (!allowed) {
    return world_.Fail("answered with revision {}, and never allowed there: {}", revision,
                       Describe(asked, needs));
  }
  if (log_.newest().enabled() && !asked.token.empty()) world_.faults.Add(Fault::kAuthAllowed);
}

void AuthJudge::LetIn(const Asked& asked, const Needs& needs) {
  const bool allowed = IsAnywhere(std::min(asked.applied, asked.committed), [&](raft::Index index) {
    return IsAllowed(asked, needs, index);
  });
  if (!allowed) world_.Fail("let in, and never allowed: {}", Describe(asked, needs));
}

void AuthJudge::Refused(const Asked& asked, const Needs& needs, const Error& error) {
  if (!IsRefusal(error)) return;
  const raft::Index lower = Lower(asked, needs);
  const auto fail = [&] { world_.Fail("refused ({}): {}", error.message, Describe(asked, needs)); };
  if (error.message == kDenied || error.message == kUnknownUser) {
    // The user's permissions decide; whether the token was valid does not matter.
    const bool denied = IsAnywhere(lower, [&](raft::Index index) {
      const AuthModel& auth = log_.AuthAt(index);
      if (!auth.enabled() || auth.MayAdminister(asked.user)) return false;
      if (needs.root || !auth.MayAll(asked.user, needs.keys)) return true;
      return !std::ranges::all_of(log_.KeysOf(needs.lease, index), [&](const std::string& key) {
        return auth.May(asked.user, {.writes = true, .key = key});
      });
    });
    if (!denied) return fail();
    return world_.faults.Add(Fault::kAuthDenied);
  }
  if (error.message == kNoUser) {
    // No particular user, or admitted while auth was disabled and applied when it was enabled.
    const bool was_off = asked.token.empty() || IsAnywhere(std::min(asked.applied, asked.committed),
                                                           [&](raft::Index index) {
                                                             return !log_.AuthAt(index).enabled();
                                                           });
    const bool was_on =
        IsAnywhere(lower, [&](raft::Index index) { return log_.AuthAt(index).enabled(); });
    if (!was_off || !was_on) return fail();
    return world_.faults.Add(Fault::kAuthNobodyRefused);
  }
  if (error.message == kBadToken) {
    // It has ended, or this process has never heard of it: tokens live in memory.
    const bool ended = !log_.IsTokenGood(asked.token, asked.user, log_.last());
    const bool heard = asked.life == asked.machine->life() &&
                       log_.HeardSince(*asked.machine) < log_.LoginOf(asked.token);
    if (!ended && heard) return fail();
    return world_.faults.Add(ended ? Fault::kAuthTokenEnded : Fault::kAuthTokenUnknown);
  }
  // An outdated entry is proposed again, until its request times out.
  const Duration shortest = asked.machine->options().replica.request_timeout * 2 / 3;
  if (world_.scheduler.Now() - asked.taken < shortest) fail();
}

// ---- logins ----

bool AuthJudge::Fits(const std::string& user, const std::string& password,
                     raft::Index index) const {
  const AuthModel& auth = log_.AuthAt(index);
  if (!auth.MayLogIn(user)) return false;
  const auto hash = auth::DecodeHash(auth.Find(user)->hash);
  return hash.has_value() && passwords_.Fit(password, *hash);
}

void AuthJudge::LoggedIn(const Asked& asked, const std::string& password,
                         const std::string& token) {
  const raft::Index index = log_.LoginOf(token);
  if (index <= asked.committed || !Fits(asked.user, password, index)) {
    return world_.Fail("{} is logged in at {} by the entry {}, and its password was not {}",
                       asked.user, asked.machine->name(), index, password);
  }
  world_.faults.Add(Fault::kAuthLogin);
}

void AuthJudge::LoginRefused(const Asked& asked, const std::string& password, const Error& error) {
  bool is_right = true;
  if (error.message == kIsOff) {
    is_right = IsAnywhere(asked.committed,
                          [&](raft::Index index) { return !log_.AuthAt(index).enabled(); });
  } else if (error.message == kLoginFailed || error.message == kNoPassword) {
    is_right = IsAnywhere(asked.committed,
                          [&](raft::Index index) { return !Fits(asked.user, password, index); });
    world_.faults.Add(Fault::kAuthLoginRefused);
  }
  if (!is_right) {
    world_.Fail("{} cannot log in at {} with {}, from index {} to {}: {}", asked.user,
                asked.machine->name(), password, asked.committed, log_.last(), error.message);
  }
}

}  // namespace kvorum::sim
