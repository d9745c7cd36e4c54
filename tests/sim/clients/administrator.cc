#include "tests/sim/clients/administrator.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "proto/rpc.pb.h"
#include "tests/sim/clients/request.h"
#include "tests/sim/clients/unary_call.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kRoles = 3;

template <class Message>
std::string Named(const std::string& name) {
  Message message;
  message.set_name(name);
  return message.SerializeAsString();
}

std::string GrantRoleBody(const std::string& user, const std::string& role) {
  etcdserverpb::AuthUserGrantRoleRequest request;
  request.set_user(user);
  request.set_role(role);
  return request.SerializeAsString();
}

std::string RevokeRoleBody(const std::string& user, const std::string& role) {
  etcdserverpb::AuthUserRevokeRoleRequest request;
  request.set_name(user);
  request.set_role(role);
  return request.SerializeAsString();
}

std::string PermissionBody(const std::string& role, authpb::Permission::Type type,
                           const std::string& key, const std::string& range_end) {
  etcdserverpb::AuthRoleGrantPermissionRequest request;
  request.set_name(role);
  request.mutable_perm()->set_permtype(type);
  request.mutable_perm()->set_key(key);
  request.mutable_perm()->set_range_end(range_end);
  return request.SerializeAsString();
}

std::string RoleOf(std::uint64_t number) { return "r" + std::to_string(number + 1); }

}  // namespace

Administrator::Administrator(World& world, std::vector<std::unique_ptr<Machine>>& machines,
                             const LogModel& log, AuthJudge& judge, Users& users)
    : world_(world),
      machines_(machines),
      log_(log),
      judge_(judge),
      users_(users),
      root_(users.New(Users::kRoot)),
      stranger_(users.New(Users::NameOf(0))) {}

void Administrator::Start() {
  if (!world_.has_auth) return;
  constexpr std::array kThinking = {milliseconds(30), milliseconds(200), milliseconds(1'000)};
  most_thinking_ = 2 * kThinking[world_.auth_rng.Below(kThinking.size())];
  first_ = {AddUser(Users::kRoot),
            {"RoleAdd", Named<etcdserverpb::AuthRoleAddRequest>(Users::kRoot)},
            {"UserGrantRole", GrantRoleBody(Users::kRoot, Users::kRoot)}};
  for (std::uint64_t i = 0; i < kRoles; ++i) {
    first_.push_back({"RoleAdd", Named<etcdserverpb::AuthRoleAddRequest>(RoleOf(i))});
    // All keys; those that no lease is for; all, to be read.
    const auto type = i == 2 ? authpb::Permission::READ : authpb::Permission::READWRITE;
    first_.push_back({"RoleGrantPermission",
                      PermissionBody(RoleOf(i), type, kFirstKey, i == 1 ? "kl" : kEndOfKeys)});
  }
  for (std::uint64_t i = 0; i < Users::kOthers; ++i) {
    first_.push_back(AddUser(Users::NameOf(i)));
    first_.push_back({"UserGrantRole", GrantRoleBody(Users::NameOf(i), RoleOf(i % kRoles))});
  }
  first_.push_back({"AuthEnable", {}});
  SetUp(0);
}

void Administrator::SetUp(std::size_t step) {
  if (stopped_ || world_.failed()) return;
  if (step == first_.size()) return GoOn();
  Ask(root_, first_[step], [this, step](bool done) {
    if (!done) at_ = world_.auth_rng.Below(machines_.size());
    world_.scheduler.After(milliseconds(done ? 1 : 100),
                           [this, step, done] { SetUp(done ? step + 1 : step); });
  });
}

void Administrator::GoOn() {
  if (stopped_ || world_.failed()) return;
  const auto thinking = static_cast<std::uint64_t>(most_thinking_.count());
  world_.scheduler.After(Duration(world_.auth_rng.Below(thinking)), [this] {
    if (stopped_) return;
    if (world_.auth_rng.OneIn(4)) at_ = world_.auth_rng.Below(machines_.size());
    Users::Session& session = world_.auth_rng.OneIn(15) ? stranger_ : root_;
    Ask(session, RandomChange(), [this](bool done) {
      if (!done) at_ = world_.auth_rng.Below(machines_.size());
      GoOn();
    });
  });
}

void Administrator::Ask(Users::Session& session, const Change& change,
                        std::function<void(bool)> done) {
  Machine& machine = *machines_[at_];
  users_.Ready(session, machine, [this, &session, &machine, change, done = std::move(done)] {
    auto asked =
        std::make_shared<AuthJudge::Asked>(judge_.Ask(session.user, session.token, machine));
    Call(world_, machine,
         {.path = "/etcdserverpb.Auth/" + change.method,
          .request = change.request,
          .token = session.token,
          .on_taken = [this, asked] { judge_.Taken(*asked); },
          .on_answer =
              [this, asked](const Result<std::string>& answer) {
                const Needs needs{.root = true};
                if (answer.has_value()) return judge_.LetIn(*asked, needs);
                // The user in the request, not the caller.
                if (answer.error().message == "etcdserver: user name not found") return;
                judge_.Refused(*asked, needs, answer.error());
              },
          .done =
              [this, &session, change, done](const Result<std::string>& answer) {
                world_.Note("{} asks for {}: {}", session.user, change.method,
                            answer.has_value() ? "done" : answer.error().message);
                if (!answer.has_value()) users_.Told(session, answer.error());
                done(answer.has_value() || answer.error().code == Code::kFailedPrecondition);
              }});
  });
}

// ---- the administrator's requests ----

std::string Administrator::AnyRole() { return RoleOf(world_.auth_rng.Below(kRoles)); }

Administrator::Change Administrator::AddUser(const std::string& name) {
  const std::string password = users_.NewPassword();
  users_.SetPassword(name, password);
  etcdserverpb::AuthUserAddRequest request;
  request.set_name(name);
  if (name != Users::kRoot && world_.auth_rng.OneIn(10)) {
    request.mutable_options()->set_no_password(true);
  } else {
    request.set_password(password);
  }
  return {"UserAdd", request.SerializeAsString()};
}

Administrator::Change Administrator::ChangePassword(const std::string& name) {
  const std::string password = users_.NewPassword();
  users_.SetPassword(name, password);
  etcdserverpb::AuthUserChangePasswordRequest request;
  request.set_name(name);
  request.set_password(password);
  return {"UserChangePassword", request.SerializeAsString()};
}

Administrator::Change Administrator::GrantPermission(const std::string& role) {
  Rng& rng = world_.auth_rng;
  constexpr std::array kTypes = {authpb::Permission::READ, authpb::Permission::WRITE,
                                 authpb::Permission::READWRITE};
  const auto type = kTypes[rng.Below(kTypes.size())];
  const std::uint64_t first = rng.Below(4);
  const std::string key = fmt::format("k{}", first);
  switch (rng.Below(6)) {
    case 0:
      return {"RoleGrantPermission", PermissionBody(role, type, kFirstKey, kEndOfKeys)};
    case 1:
      return {"RoleGrantPermission", PermissionBody(role, type, key, std::string(1, '\0'))};
    case 2:
      return {"RoleGrantPermission", PermissionBody(role, type, "kl", kEndOfKeys)};
    case 3:  // one key, maybe of those for leases: whose others are not the role's then
      return {"RoleGrantPermission",
              PermissionBody(role, type, rng.OneIn(2) ? key : fmt::format("kl{}", first), {})};
    default:
      return {"RoleGrantPermission",
              PermissionBody(role, type, key, fmt::format("k{}", first + 1 + rng.Below(4)))};
  }
}

Administrator::Change Administrator::RevokePermission() {
  const auto& grants = log_.newest().grants();
  if (grants.empty()) return GrantPermission(AnyRole());
  const AuthModel::Grant& grant = grants[world_.auth_rng.Below(grants.size())];
  etcdserverpb::AuthRoleRevokePermissionRequest request;
  request.set_role(grant.role);
  request.set_key(grant.key);
  request.set_range_end(grant.range_end);
  return {"RoleRevokePermission", request.SerializeAsString()};
}

Administrator::Change Administrator::RandomChange() {
  Rng& rng = world_.auth_rng;
  const AuthModel& now = log_.newest();
  if (!now.enabled() && rng.OneIn(3)) return {"AuthEnable", {}};
  for (std::uint64_t i = 0; i < Users::kOthers; ++i) {
    if (now.Find(Users::NameOf(i)) == nullptr && rng.OneIn(2)) return AddUser(Users::NameOf(i));
  }
  for (std::uint64_t i = 0; i < kRoles; ++i) {
    const bool is_there = std::ranges::find(now.roles(), RoleOf(i)) != now.roles().end();
    if (!is_there && rng.OneIn(2))
      return {"RoleAdd", Named<etcdserverpb::AuthRoleAddRequest>(RoleOf(i))};
  }
  const std::uint64_t dice = rng.Below(100);
  if (dice < 30) return GrantPermission(AnyRole());
  if (dice < 48) return RevokePermission();
  if (dice < 68) return {"UserGrantRole", GrantRoleBody(AnyUser(), AnyRole())};
  if (dice < 78) return {"UserRevokeRole", RevokeRoleBody(AnyUser(), AnyRole())};
  if (dice < 84) return {"UserDelete", Named<etcdserverpb::AuthUserDeleteRequest>(AnyUser())};
  if (dice < 89) return ChangePassword(rng.OneIn(6) ? Users::kRoot : AnyUser());
  if (dice < 93) {
    etcdserverpb::AuthRoleDeleteRequest request;
    request.set_role(AnyRole());
    return {"RoleDelete", request.SerializeAsString()};
  }
  if (dice < 94) return {"UserGrantRole", GrantRoleBody(AnyUser(), Users::kRoot)};
  if (dice < 97) return {"UserRevokeRole", RevokeRoleBody(AnyUser(), Users::kRoot)};
  return {"AuthDisable", {}};
}

}  // namespace kvorum::sim
