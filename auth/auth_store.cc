#include "auth/auth_store.h"

#include <algorithm>
#include <utility>

#include "auth/auth_draft.h"
#include "auth/password.h"
#include "auth/permission_order.h"
#include "base/api_errors.h"
#include "base/check.h"

namespace kvorum::auth {
namespace {

UserRecord WithoutRole(const UserRecord& user, std::string_view role) {
  UserRecord changed = user;
  std::erase(changed.roles, role);
  return changed;
}

}  // namespace

std::shared_ptr<const AuthState> AuthStore::state() const {
  const std::lock_guard lock(mutex_);
  return content_.state_;
}

Change AuthStore::Publish(AuthDraft draft) {
  auto [state, records] = draft.Finish();
  const std::lock_guard lock(mutex_);
  content_.state_.swap(state);
  return {std::move(records), {}};
}

EndedTokens AuthStore::EndedBy(const Content& content) const {
  EndedTokens ended;
  const AuthState& old_state = *content_.state_;
  const AuthState& new_state = *content.state_;
  ended.all = !new_state.enabled() || new_state.token_revision_ != old_state.token_revision_;
  if (!ended.all) {
    old_state.users_.ForEach([&](const User& user) {
      const User* now = new_state.FindUser(user.name());
      // Two hashes of one password differ by their salt: another user has another hash.
      if (now == nullptr || now->password_hash() != user.password_hash())
        ended.users.push_back(user.name());
    });
    std::ranges::sort(ended.users);
  }
  return ended;
}

void AuthStore::Replace(Content content) {
  const std::lock_guard lock(mutex_);
  std::swap(content_, content);
}

Result<Change> AuthStore::Enable() {
  if (now().enabled()) return Change{};
  const User* root = now().FindUser(kRootUser);
  if (root == nullptr) return kErrRootUserNotExist.Fail();
  if (!root->is_root()) return kErrRootRoleNotExist.Fail();
  AuthDraft draft(content_, AuthDraft::Revision::kStays);
  draft.SetEnabled(true);
  return Publish(std::move(draft));
}

Change AuthStore::Disable() {
  if (!now().enabled()) return {};
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.SetEnabled(false);
  draft.EndTokens();
  Change change = Publish(std::move(draft));
  change.ended.all = true;
  return change;
}

Result<Change> AuthStore::AddUser(std::string_view name, std::string_view hash_base64,
                                  bool no_password) {
  if (name.empty()) return kErrUserEmpty.Fail();
  if (name.size() > kMaxNameSizeBytes) return kErrNameTooLong.Fail();
  if (now().FindUser(name) != nullptr) return kErrUserAlreadyExist.Fail();
  UserRecord user{std::string(name), {}, {}, no_password};
  if (!no_password) {
    KV_TRY(user.password_hash, DecodeHash(hash_base64));
  }
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.PutUser(std::move(user), AuthDraft::Sessions::kEnd);
  return Publish(std::move(draft));
}

Result<Change> AuthStore::DeleteUser(std::string_view name) {
  if (now().enabled() && name == kRootUser) return kErrInvalidAuthMgmt.Fail();
  if (now().FindUser(name) == nullptr) return kErrUserNotFound.Fail();
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.RemoveUser(name);
  Change change = Publish(std::move(draft));
  change.ended.users.emplace_back(name);
  return change;
}

Result<Change> AuthStore::ChangePassword(std::string_view name, std::string_view hash_base64) {
  const User* user = now().FindUser(name);
  if (user == nullptr) return kErrUserNotFound.Fail();
  UserRecord changed = *user->record();
  changed.password_hash.clear();
  if (!user->is_without_password()) {
    KV_TRY(changed.password_hash, DecodeHash(hash_base64));
  }
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.PutUser(std::move(changed), AuthDraft::Sessions::kEnd);
  Change change = Publish(std::move(draft));
  change.ended.users.emplace_back(name);
  return change;
}

Result<Change> AuthStore::GrantRole(std::string_view user, std::string_view role) {
  const User* found = now().FindUser(user);
  if (found == nullptr) return kErrUserNotFound.Fail();
  if (role != kRootRole && now().FindRole(role) == nullptr) return kErrRoleNotFound.Fail();
  if (found->HasRole(role)) return Change{};
  UserRecord changed = *found->record();
  changed.roles.emplace(std::ranges::lower_bound(changed.roles, role), role);
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.PutUser(std::move(changed), AuthDraft::Sessions::kGoOn);
  return Publish(std::move(draft));
}

Result<Change> AuthStore::RevokeRole(std::string_view user, std::string_view role) {
  if (now().enabled() && user == kRootUser && role == kRootRole) return kErrInvalidAuthMgmt.Fail();
  const User* found = now().FindUser(user);
  if (found == nullptr) return kErrUserNotFound.Fail();
  if (!found->HasRole(role)) return kErrRoleNotGranted.Fail();
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.PutUser(WithoutRole(*found->record(), role), AuthDraft::Sessions::kGoOn);
  return Publish(std::move(draft));
}

Result<Change> AuthStore::AddRole(std::string_view name) {
  if (name.empty()) return kErrRoleEmpty.Fail();
  if (name.size() > kMaxNameSizeBytes) return kErrNameTooLong.Fail();
  if (now().FindRole(name) != nullptr) return kErrRoleAlreadyExist.Fail();
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.AddRole(name);
  return Publish(std::move(draft));
}

Result<Change> AuthStore::DeleteRole(std::string_view name) {
  if (now().enabled() && name == kRootRole) return kErrInvalidAuthMgmt.Fail();
  if (now().FindRole(name) == nullptr) return kErrRoleNotFound.Fail();
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.RemoveRole(name);
  const AuthContent::Names holders = content_.HoldersOf(name);  // a copy: the users' changes modify
                                                                // the original
  for (const std::string& user : holders)
    draft.PutUser(WithoutRole(*now().FindUser(user)->record(), name), AuthDraft::Sessions::kGoOn);
  return Publish(std::move(draft));
}

Result<Change> AuthStore::GrantPermission(std::string_view role, const Permission* permission) {
  if (permission == nullptr) return kErrPermissionNotGiven.Fail();
  if (!IsValidRange(permission->key, permission->range_end)) return kErrInvalidAuthMgmt.Fail();
  const Role* found = now().FindRole(role);
  if (found == nullptr) return kErrRoleNotFound.Fail();
  RoleRecord changed = found->record();
  SetPermission(changed.permissions, *permission);
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.ChangeRole(std::move(changed));
  return Publish(std::move(draft));
}

Result<Change> AuthStore::RevokePermission(std::string_view role, std::string_view key,
                                           std::string_view range_end) {
  const Role* found = now().FindRole(role);
  if (found == nullptr) return kErrRoleNotFound.Fail();
  RoleRecord changed = found->record();
  const auto revoked = std::erase_if(changed.permissions, [&](const Permission& permission) {
    return permission.key == key && permission.range_end == range_end;
  });
  if (revoked == 0) return kErrPermissionNotGranted.Fail();
  AuthDraft draft(content_, AuthDraft::Revision::kRises);
  draft.ChangeRole(std::move(changed));
  return Publish(std::move(draft));
}

}  // namespace kvorum::auth
