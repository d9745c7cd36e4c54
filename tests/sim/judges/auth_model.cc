#include "tests/sim/judges/auth_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "auth/permission_order.h"
#include "proto/raft_internal.pb.h"

namespace kvorum::sim {
namespace {

using etcdserverpb::InternalRaftRequest;

constexpr const char* kRoot = "root";
const std::string kOpenEnd(1, '\0');

// The first key after the range; with `open` there is none.
struct End {
  bool open = false;
  std::string key;
};

End EndOf(const std::string& key, const std::string& range_end) {
  if (range_end == kOpenEnd) return {.open = true, .key = {}};
  if (range_end.empty()) return {.open = false, .key = key + std::string(1, '\0')};
  return {.open = false, .key = range_end};
}

bool IsAtLeast(const End& a, const End& b) { return a.open || (!b.open && a.key >= b.key); }

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

auth::Permission PermissionOf(const AuthModel::Grant& grant) {
  const auto type = !grant.writes ? auth::PermissionType::kRead
                    : grant.reads ? auth::PermissionType::kReadWrite
                                  : auth::PermissionType::kWrite;
  return {.type = type, .key = grant.key, .range_end = grant.range_end};
}

}  // namespace

bool AuthModel::IsChange(const InternalRaftRequest& entry) {
  return entry.has_auth_enable() || entry.has_auth_disable() || entry.has_auth_user_add() ||
         entry.has_auth_user_delete() || entry.has_auth_user_change_password() ||
         entry.has_auth_user_grant_role() || entry.has_auth_user_revoke_role() ||
         entry.has_auth_role_add() || entry.has_auth_role_delete() ||
         entry.has_auth_role_grant_permission() || entry.has_auth_role_revoke_permission();
}

AuthModel::Outcome AuthModel::Apply(const InternalRaftRequest& entry) {
  if (!MayAdminister(entry.header().username())) return Outcome::kRefused;
  bool changed = false;
  if (entry.has_auth_enable()) {
    if (enabled_) return Outcome::kNothingToDo;
    const User* root = Find(kRoot);
    if (root == nullptr || !HasRole(*root, kRoot)) return Outcome::kRefused;
    enabled_ = true;  // the one change that the revision does not count
    return Outcome::kChanged;
  }
  if (entry.has_auth_disable()) {
    if (!enabled_) return Outcome::kNothingToDo;
    enabled_ = false;
    changed = true;
  } else if (entry.has_auth_user_add()) {
    const auto& add = entry.auth_user_add();
    changed = !add.name().empty() && Find(add.name()) == nullptr;
    const bool no_password = add.options().no_password();
    if (changed) {
      users_.push_back({.name = add.name(),
                        .hash = no_password ? std::string() : add.hashedpassword(),
                        .no_password = no_password});
    }
  } else if (entry.has_auth_user_delete()) {
    changed = DeleteUser(entry.auth_user_delete().name());
  } else if (entry.has_auth_user_change_password()) {
    const auto& change = entry.auth_user_change_password();
    changed = ChangePassword(change.name(), change.hashedpassword());
  } else if (entry.has_auth_user_grant_role()) {
    const auto& grant = entry.auth_user_grant_role();
    const Outcome outcome = GrantRole(grant.user(), grant.role());
    if (outcome == Outcome::kNothingToDo) return outcome;
    changed = outcome == Outcome::kChanged;
  } else if (entry.has_auth_user_revoke_role()) {
    const auto& revoke = entry.auth_user_revoke_role();
    changed = RevokeRole(revoke.name(), revoke.role());
  } else if (entry.has_auth_role_add()) {
    const std::string& name = entry.auth_role_add().name();
    changed = !name.empty() && !IsRole(name);
    if (changed) roles_.push_back(name);
  } else if (entry.has_auth_role_delete()) {
    changed = DeleteRole(entry.auth_role_delete().role());
  } else if (entry.has_auth_role_grant_permission()) {
    const auto& request = entry.auth_role_grant_permission();
    const auto& perm = request.perm();
    changed = GrantPermission({.role = request.name(),
                               .key = perm.key(),
                               .range_end = perm.range_end(),
                               .reads = perm.permtype() != authpb::Permission::WRITE,
                               .writes = perm.permtype() != authpb::Permission::READ});
  } else if (entry.has_auth_role_revoke_permission()) {
    const auto& revoke = entry.auth_role_revoke_permission();
    changed = RevokePermission(revoke.role(), revoke.key(), revoke.range_end());
  }
  if (!changed) return Outcome::kRefused;
  ++revision_;
  return Outcome::kChanged;
}

const AuthModel::User* AuthModel::Find(const std::string& user) const {
  const auto found = std::ranges::find(users_, user, &User::name);
  return found == users_.end() ? nullptr : &*found;
}

AuthModel::User* AuthModel::Find(const std::string& user) {
  const auto found = std::ranges::find(users_, user, &User::name);
  return found == users_.end() ? nullptr : &*found;
}

bool AuthModel::HasRole(const User& user, const std::string& role) const {
  return Contains(user.roles, role);
}

bool AuthModel::IsRole(const std::string& role) const { return Contains(roles_, role); }

bool AuthModel::DeleteUser(const std::string& name) {
  if (Find(name) == nullptr || (enabled_ && name == kRoot)) return false;
  std::erase_if(users_, [&](const User& user) { return user.name == name; });
  return true;
}

bool AuthModel::ChangePassword(const std::string& name, const std::string& hash) {
  User* user = Find(name);
  if (user == nullptr) return false;
  if (!user->no_password) user->hash = hash;
  return true;
}

AuthModel::Outcome AuthModel::GrantRole(const std::string& name, const std::string& role) {
  User* user = Find(name);
  if (user == nullptr || (role != kRoot && !IsRole(role))) return Outcome::kRefused;
  if (HasRole(*user, role)) return Outcome::kNothingToDo;
  user->roles.push_back(role);
  return Outcome::kChanged;
}

bool AuthModel::RevokeRole(const std::string& name, const std::string& role) {
  User* user = Find(name);
  if (user == nullptr || !HasRole(*user, role)) return false;
  if (enabled_ && name == kRoot && role == kRoot) return false;
  std::erase(user->roles, role);
  return true;
}

bool AuthModel::DeleteRole(const std::string& role) {
  if (!IsRole(role) || (enabled_ && role == kRoot)) return false;
  std::erase(roles_, role);
  std::erase_if(grants_, [&](const Grant& grant) { return grant.role == role; });
  for (User& user : users_) std::erase(user.roles, role);
  return true;
}

bool AuthModel::GrantPermission(Grant grant) {
  if (grant.key.empty() || !IsRole(grant.role)) return false;
  const bool has_end = !grant.range_end.empty() && grant.range_end != kOpenEnd;
  if (has_end && grant.range_end <= grant.key) return false;
  // Their order, which is tested separately, decides which of several on one range is changed.
  std::vector<auth::Permission> permissions;
  for (const Grant& other : grants_)
    if (other.role == grant.role) permissions.push_back(PermissionOf(other));
  auth::SetPermission(permissions, PermissionOf(grant));
  std::erase_if(grants_, [&](const Grant& other) { return other.role == grant.role; });
  for (auth::Permission& permission : permissions) {
    grants_.push_back({.role = grant.role,
                       .key = std::move(permission.key),
                       .range_end = std::move(permission.range_end),
                       .reads = auth::AllowsRead(permission.type),
                       .writes = auth::AllowsWrite(permission.type)});
  }
  return true;
}

bool AuthModel::RevokePermission(const std::string& role, const std::string& key,
                                 const std::string& range_end) {
  return std::erase_if(grants_, [&](const Grant& grant) {
           return grant.role == role && grant.key == key && grant.range_end == range_end;
         }) > 0;
}

bool AuthModel::MayAdminister(const std::string& user) const {
  if (!enabled_) return true;
  const User* found = Find(user);
  return found != nullptr && HasRole(*found, kRoot);
}

bool AuthModel::May(const std::string& name, const KeyNeed& need) const {
  if (!enabled_) return true;
  const User* user = Find(name);
  if (user == nullptr) return false;
  if (HasRole(*user, kRoot)) return true;
  // From the first key on, as far as one grant after the other takes us.
  End reached{.open = false, .key = need.key};
  const End end = EndOf(need.key, need.range_end);
  bool goes_on = true;
  while (goes_on && !IsAtLeast(reached, end)) {
    goes_on = false;
    for (const Grant& grant : grants_) {
      if (!HasRole(*user, grant.role) || !(need.writes ? grant.writes : grant.reads)) continue;
      const End end_of_grant = EndOf(grant.key, grant.range_end);
      if (grant.key > reached.key || IsAtLeast(reached, end_of_grant)) continue;
      reached = end_of_grant;
      goes_on = true;
    }
  }
  return IsAtLeast(reached, end);
}

bool AuthModel::MayAll(const std::string& user, const std::vector<KeyNeed>& needs) const {
  return std::ranges::all_of(needs, [&](const KeyNeed& need) { return May(user, need); });
}

bool AuthModel::MayLogIn(const std::string& user) const {
  const User* found = Find(user);
  return found != nullptr && !found->no_password;
}

std::string AuthModel::Text() const {
  std::string text = fmt::format("{} at {}\n", enabled_ ? "on" : "off", revision_);
  std::vector<std::string> lines;
  for (const User& user : users_) {
    std::vector<std::string> roles = user.roles;
    std::ranges::sort(roles);
    std::string line = fmt::format("user {} {}{}", user.name, user.hash,
                                   user.no_password ? " without password" : "");
    for (const std::string& role : roles) line += " " + role;
    lines.push_back(std::move(line));
  }
  for (const std::string& role : roles_) lines.push_back("role " + role);
  for (const Grant& grant : grants_) {
    lines.push_back(fmt::format("grant {} {} to {}{}{}", grant.role, grant.key,
                                grant.range_end == kOpenEnd ? "the end" : grant.range_end,
                                grant.reads ? " read" : "", grant.writes ? " write" : ""));
  }
  std::ranges::sort(lines);
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

namespace {

void AddNeeds(const etcdserverpb::TxnRequest& txn, std::vector<KeyNeed>& needs) {
  for (const auto& compare : txn.compare())
    needs.push_back({.writes = false, .key = compare.key(), .range_end = compare.range_end()});
  const auto add = [&](const etcdserverpb::RequestOp& op) {
    if (op.has_request_range()) {
      const auto& range = op.request_range();
      needs.push_back({.writes = false, .key = range.key(), .range_end = range.range_end()});
    } else if (op.has_request_put()) {
      needs.push_back({.writes = true, .key = op.request_put().key()});
      if (op.request_put().prev_kv())
        needs.push_back({.writes = false, .key = op.request_put().key()});
    } else if (op.has_request_delete_range()) {
      const auto& del = op.request_delete_range();
      needs.push_back({.writes = true, .key = del.key(), .range_end = del.range_end()});
      if (del.prev_kv())
        needs.push_back({.writes = false, .key = del.key(), .range_end = del.range_end()});
    } else if (op.has_request_txn()) {
      AddNeeds(op.request_txn(), needs);
    }
  };
  for (const auto& op : txn.success()) add(op);
  for (const auto& op : txn.failure()) add(op);
}

}  // namespace

std::vector<KeyNeed> NeedsOf(const etcdserverpb::TxnRequest& txn) {
  std::vector<KeyNeed> needs;
  AddNeeds(txn, needs);
  return needs;
}

}  // namespace kvorum::sim
