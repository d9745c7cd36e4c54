#include "auth/auth_state.h"

#include <algorithm>

#include "base/api_errors.h"
#include "base/check.h"

namespace kvorum::auth {

std::uint64_t AuthState::RequiredRevision(std::string_view username) const {
  return RequiredRevision(FindUser(username));
}

std::uint64_t AuthState::RequiredRevision(const User* user) const {
  return user == nullptr ? revision_ : std::max(token_revision_, user->changed_revision());
}

std::uint64_t AuthState::SessionsSince(const User* user) const {
  return user == nullptr ? revision_ : std::max(token_revision_, user->sessions_since());
}

Result<const User*> AuthState::Identify(const Identity& identity) const {
  if (identity.revision == 0) return kErrUserEmpty.Fail();
  const User* user = UserOf(identity);
  if (identity.revision < RequiredRevision(user)) return kErrAuthOldRevision.Fail();
  if (user == nullptr) return kErrPermissionDenied.Fail();
  return user;
}

std::shared_ptr<const User> AuthState::MakeUser(std::shared_ptr<const UserRecord> record,
                                                std::uint64_t own_revision,
                                                std::uint64_t sessions_since) const {
  std::vector<std::shared_ptr<const Role>> roles;
  for (const std::string& name : record->roles)
    if (const auto* role = roles_.FindShared(name)) roles.push_back(*role);
  return std::make_shared<const User>(std::move(record), own_revision, sessions_since,
                                      std::move(roles));
}

Result<void> AuthState::CheckRead(const Identity& identity, std::string_view key,
                                  std::string_view range_end) const {
  if (!enabled_) return {};
  KV_TRY(const User* user, Identify(identity));
  if (user->is_root() || user->MayRead(key, range_end)) return {};
  return kErrPermissionDenied.Fail();
}

Result<void> AuthState::CheckWrite(const Identity& identity, std::string_view key,
                                   std::string_view range_end) const {
  if (!enabled_) return {};
  KV_TRY(const User* user, Identify(identity));
  if (user->is_root() || user->MayWrite(key, range_end)) return {};
  return kErrPermissionDenied.Fail();
}

Result<void> AuthState::CheckAdmin(const Identity& identity) const {
  if (!enabled_) return {};
  if (identity.username.empty()) return kErrUserEmpty.Fail();
  const User* user = UserOf(identity);
  if (user == nullptr) return kErrUserNotFound.Fail();
  KV_RETURN_IF_ERROR(Identify(identity));
  if (!user->is_root()) return kErrPermissionDenied.Fail();
  return {};
}

bool AuthState::UserHasRole(std::string_view user, std::string_view role) const {
  const User* found = FindUser(user);
  return found != nullptr && found->HasRole(role);
}

Result<const User*> AuthState::BeginLogin(std::string_view username) const {
  if (!enabled_) return kErrAuthNotEnabled.Fail();
  const User* user = FindUser(username);
  if (user != nullptr && user->is_without_password()) return kErrNoPasswordUser.Fail();
  return user;
}

Result<void> AuthState::CheckLogin(std::string_view username) const {
  if (!enabled_) return kErrAuthNotEnabled.Fail();
  const User* user = FindUser(username);
  if (user == nullptr || user->is_without_password()) return kErrAuthFailed.Fail();
  return {};
}

void AuthState::CheckInvariants() const {
  KV_CHECK(revision_ >= 1, "auth: the revision begins with 1");
  KV_CHECK(token_revision_ <= revision_, "auth: no token is newer than the revision");
  std::size_t users = 0;
  users_.ForEach([&](const User& user) {
    ++users;
    KV_CHECK(FindUser(user.name()) == &user, "auth: a user is found under its name");
    KV_CHECK(user.changed_revision() <= revision_, "auth: no user is newer than the revision");
    KV_CHECK(std::ranges::is_sorted(user.roles()), "auth: the roles of a user are sorted");
    std::uint64_t changed = user.own_revision();
    std::vector<const Permission*> permissions;
    for (const std::string& name : user.roles()) {
      const Role* role = FindRole(name);
      if (role == nullptr) continue;
      changed = std::max(changed, role->changed_revision());
      for (const Permission& permission : role->record().permissions)
        permissions.push_back(&permission);
    }
    KV_CHECK(changed == user.changed_revision(), "auth: a user knows the newest of its roles");
    const PermissionSet merged(permissions);
    KV_CHECK(merged.read().ranges() == user.permissions().read().ranges() &&
                 merged.write().ranges() == user.permissions().write().ranges(),
             "auth: the merged permissions are those of the roles");
  });
  KV_CHECK(users == user_count(), "auth: the users are counted");
}

}  // namespace kvorum::auth
