// The whole auth state at one place of the log: whether auth is enabled, users, roles, and every
// check against them. An immutable snapshot, shared by pointer, so that a check at a request's
// entry and a change on the apply executor do not interfere.
//
// Thread-safe. A pure value: no logging, no clock, no I/O. Cost of a check: the look-up of the user
// (name_map.h) and one binary search; no allocation unless it refuses. The first check after a
// change to the user or its roles merges its permissions.
//
// Validity of tokens: every change raises the auth revision, and a token carries the one at which
// it was issued. etcd refuses every token older than the newest revision. Here a token is valid
// until a change affects what its user may do: its revision must not be less than
// RequiredRevision(user). The records that this needs are part of the replicated state, so every
// member answers alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "auth/name_map.h"
#include "auth/user.h"
#include "base/error.h"

namespace kvorum::auth {

// The user that a request is made for, and the auth revision at which that was established: the
// claim of a JWT; for simple tokens and certificates the state's revision when the request entered.
// {} stands for no user. At apply both come from the entry's header.
struct Identity {
  std::string_view username;
  std::uint64_t revision = 0;
  // The result of FindUser for the name in the same state; null: it is looked up.
  const User* user = nullptr;
};

class AuthState {
 public:
  // Disabled, revision 1, no users: a new store's.
  AuthState() = default;

  bool enabled() const { return enabled_; }
  std::uint64_t revision() const { return revision_; }

  // nullptr if there is none; valid as long as this state.
  const User* FindUser(std::string_view name) const { return users_.Find(name); }
  const Role* FindRole(std::string_view name) const { return roles_.Find(name); }
  std::size_t user_count() const { return users_.size(); }
  // Sorted. O(n log n).
  std::vector<std::string> UserNames() const { return users_.SortedNames(); }
  std::vector<std::string> RoleNames() const { return roles_.SortedNames(); }

  // ---- permission checks, all ok while auth is disabled ----

  // For requests that only root may make. No name: kErrUserEmpty; unknown: kErrUserNotFound; an
  // identity older than RequiredRevision: kErrAuthOldRevision (etcd ignores the revision here);
  // else kErrPermissionDenied.
  Result<void> CheckAdmin(const Identity& identity) const;
  // Revision 0, which stands for no user: kErrUserEmpty; older than RequiredRevision:
  // kErrAuthOldRevision; unknown, or without the permission on the whole range:
  // kErrPermissionDenied.
  Result<void> CheckRead(const Identity& identity, std::string_view key,
                         std::string_view range_end) const;
  Result<void> CheckWrite(const Identity& identity, std::string_view key,
                          std::string_view range_end) const;
  // False for an unknown user.
  bool UserHasRole(std::string_view user, std::string_view role) const;

  // The lowest revision that is valid in a token of this user; for an unknown user the newest.
  std::uint64_t RequiredRevision(std::string_view username) const;
  // The same for a caller last seen with a valid simple token, which survives changes of what its
  // user may do. Both take the result of FindUser.
  std::uint64_t SessionsSince(const User* user) const;
  std::uint64_t RequiredRevision(const User* user) const;

  // ---- logging in ----

  // When the request enters: kErrAuthNotEnabled; kErrNoPasswordUser. nullptr for an unknown user:
  // then verify against a dummy hash all the same, and answer kErrAuthFailed. The password was
  // verified against this state: log in again if the revision has moved when the entry is applied.
  Result<const User*> BeginLogin(std::string_view username) const;
  // When it is applied: kErrAuthNotEnabled; kErrAuthFailed for a user that does not exist or has no
  // password.
  Result<void> CheckLogin(std::string_view username) const;

  // Aborts with the broken invariant. O(n).
  void CheckInvariants() const;

 private:
  friend class AuthContent;
  friend class AuthDraft;
  friend class AuthStore;

  const User* UserOf(const Identity& identity) const {
    return identity.user != nullptr ? identity.user : FindUser(identity.username);
  }
  Result<const User*> Identify(const Identity& identity) const;
  // Makes a user with its roles as they are in this state.
  std::shared_ptr<const User> MakeUser(std::shared_ptr<const UserRecord> record,
                                       std::uint64_t own_revision,
                                       std::uint64_t sessions_since) const;

  bool enabled_ = false;
  std::uint64_t revision_ = 1;
  // Older tokens are invalid; raised when auth is disabled. For a state written by etcd it is the
  // revision found at the start, and is stored with the first change.
  std::uint64_t token_revision_ = 1;
  bool is_token_revision_stored_ = false;
  NameMap<User> users_;
  NameMap<Role> roles_;
};

}  // namespace kvorum::auth
